"""Writes rows of the corpus: one JSON object a line, without what only this machine has."""

import json
import os
import re
from pathlib import Path

import failing

ROWS = Path(__file__).resolve().parent.parent / "rows"
LABELS = {"absent", "passing", "who-are-you", "not-allowed", "bad-argument", "own-fault"}
# The longest text that a server would reasonably show.
LONGEST = 1500


def plain(text):
    """The text without addresses in memory and folders of the machine it was recorded on."""
    text = re.sub(r"0x[0-9a-f]{8,}", "0x7f3a5c0d1e50", text)
    # Folders of virtual environments and of temporary files.
    for folder in {os.environ.get("RECORDING", ""), str(ROWS.parent), str(Path.home())} - {"", "/"}:
        text = text.replace(folder, "/srv/app")
    text = re.sub(r"/tmp/[\w./-]+", lambda found: "/srv/app/" + found.group().rsplit("/", 1)[1], text)
    return text[:LONGEST]


def told_by_the_failing_server():
    """What each scenario of failing.py says, so that one saying through many SDKs is one group."""
    for name, (_, _, (_, text)) in failing.ANSWERS.items():
        for said in re.findall(r'(?:"(?:message|reason|detail|error_description|error)": "|<Message>)([^"<]{9,})', text):
            yield said, name


def group_of(said):
    for told, name in told_by_the_failing_server():
        if told in said or told in said.replace('\\"', '"'):
            return name
    return None


class Rows:
    def __init__(self, name):
        self.path = ROWS / f"{name}.jsonl"
        self.rows = []

    def add(self, label, by, said, **more):
        assert label in LABELS, label
        said = plain(str(said)).strip()
        if not said:
            return
        row = {"class": label, "by": by, "said": said, **more}
        group = group_of(said)
        if group:
            row["group"] = group
        if all(row["said"] != other["said"] for other in self.rows):
            self.rows.append(row)

    def write(self):
        lines = [json.dumps(row, ensure_ascii=False) for row in self.rows]
        self.path.write_text("\n".join(lines) + "\n")
        print(f"{self.path.name}: {len(lines)} rows")
