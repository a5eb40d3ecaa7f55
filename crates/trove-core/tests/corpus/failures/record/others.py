"""Runs the recorders in Go, Java and Rust against one failing server, and keeps their rows."""

import json
import os
import subprocess
import sys
from pathlib import Path

import failing
from rows import Rows

HERE = Path(__file__).resolve().parent
doors = failing.start()
answers = {name: {"status": status, "label": label} for name, (status, label, _) in failing.ANSWERS.items()}
given = json.dumps({"doors": doors, "answers": answers})
target = os.environ.get("RECORDING_TARGET", "/tmp/record-target")
COMMANDS = {
    "go": ["go", "run", str(HERE / "record.go"), given],
    "java": ["java", str(HERE / "Record.java"), *[f"{name}={address}" for name, address in doors.items()]],
    "rust": ["cargo", "run", "--quiet", "--manifest-path", str(HERE / "rust/Cargo.toml"), "--target-dir", target, "--", given],
}
for name in sys.argv[1:] or COMMANDS:
    told = subprocess.run(COMMANDS[name], capture_output=True, text=True)
    print(told.stderr[-2000:])
    rows = Rows(name)
    for line in told.stdout.splitlines():
        rows.add(*json.loads(line))
    rows.write()
