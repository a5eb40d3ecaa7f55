#!/usr/bin/env node
// Runs the program of the platform package in place of this script: same streams, same
// signals, same end. Nothing is downloaded, here or while installing.

const { spawn } = require('node:child_process');
const { constants } = require('node:os');

const platform = `trove-mcp-${process.platform}-${process.arch}`;
let program;
try {
  program = require.resolve(`${platform}/bin/trove`);
} catch {
  console.error(`error: there is no ${platform} beside this package; install it without --omit=optional, or build Trove with cargo`);
  process.exit(1);
}

const child = spawn(program, process.argv.slice(2), { stdio: 'inherit' });
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal));
child.on('error', (error) => {
  console.error(`error: ${program} cannot be run: ${error.message}`);
  process.exit(1);
});
child.on('exit', (code, signal) => process.exit(code ?? 128 + constants.signals[signal]));
