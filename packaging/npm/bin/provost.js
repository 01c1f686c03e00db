#!/usr/bin/env node
// Starts the provost of the package for this system. Downloads nothing.
"use strict";
const { spawn } = require("node:child_process");

const name = `@provost/cli-${process.platform}-${process.arch}`;
let file;
try {
  file = require.resolve(`${name}/bin/provost`);
} catch {
  console.error(`error: the package ${name} is not installed`);
  console.error("\nhint: provost runs on Linux x64 and arm64; install it with optional dependencies");
  process.exit(2);
}
const child = spawn(file, process.argv.slice(2), { stdio: "inherit" });
// A terminal sends Ctrl-C to both. A signal to this process alone is passed on.
process.on("SIGINT", () => {});
for (const signal of ["SIGTERM", "SIGHUP"]) process.on(signal, () => child.kill(signal));
child.on("error", (error) => {
  console.error(`error: ${file} cannot be started: ${error.message}`);
  process.exit(2);
});
child.on("exit", (code, signal) => {
  if (signal) {
    process.removeAllListeners(signal);
    process.kill(process.pid, signal);
  } else {
    process.exit(code);
  }
});
