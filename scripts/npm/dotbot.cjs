#!/usr/bin/env node
/**
 * The command that npm installs: finds the binary of this machine, which came as an optional dependency, and becomes it.
 *
 * Where node can replace itself (`process.execve`: node 22.15, 23.11 and later, not on Windows) nothing of it is left: one
 * process, its own signals, its own status. Elsewhere the binary is a child that has the same streams, gets the signals
 * that it wouldn't get anyway, and whose end is this process's end.
 *
 * `require("dotbot")` answers with the path of the binary, for those who want to call it without this detour.
 */
"use strict";

const { optionalDependencies: binaries = {}, version } = require("../package.json");

/** Exit status of dotbot for "the environment lacks something". */
const ENVIRONMENT = 5;

const machine = `${process.platform}-${process.arch}`;

/** The packages with a binary for this machine, the fitting one first. */
function candidates() {
  const names = [`@dotbot/${machine}`, `@dotbot/${machine}-musl`].filter((name) => name in binaries);
  return names.length > 1 && usesMusl() ? names.reverse() : names;
}

/** Only asked where two may be installed: old package managers install for either C library. */
function usesMusl() {
  process.report.excludeNetwork = true;
  return process.report.getReport().header.glibcVersionRuntime === undefined;
}

/** Absolute path of this machine's binary, or null. */
function binaryPath() {
  const program = process.platform === "win32" ? "dotbot.exe" : "dotbot";
  for (const name of candidates()) {
    try {
      return require.resolve(`${name}/bin/${program}`);
    } catch {
      // Not installed. The next one, or the message below.
    }
  }
  return null;
}

function fail(message, ...more) {
  process.stderr.write(`dotbot: ${[message, ...more].join("\n")}\n`);
  process.exitCode = ENVIRONMENT;
}

function explainAbsence() {
  const [name] = candidates();
  if (name === undefined) {
    fail(
      `there is no binary for ${machine}`,
      `  hint: there are binaries for ${Object.keys(binaries)
        .map((known) => known.replace("@dotbot/", ""))
        .join(", ")}`,
    );
    return;
  }
  fail(
    `the package ${name}, which holds the binary for this machine, isn't installed`,
    "  hint: npm leaves it out with --omit=optional, or when the lockfile or node_modules was made on another kind of machine",
    `  try:  npm install --no-save ${name}@${version}`,
  );
}

function run(path) {
  const args = process.argv.slice(2);
  if (typeof process.execve === "function" && process.platform !== "win32") {
    // Returns only by throwing.
    process.execve(path, [path, ...args], process.env);
  }
  const child = require("node:child_process").spawn(path, args, { stdio: "inherit" });
  // A terminal sends these to all of its foreground processes, and the second one that dotbot gets ends it at once.
  const atTerminal = [0, 1, 2].some((fd) => require("node:tty").isatty(fd));
  for (const signal of ["SIGINT", "SIGHUP", "SIGQUIT"]) process.on(signal, () => atTerminal || child.kill(signal));
  for (const signal of ["SIGTERM", "SIGUSR1", "SIGUSR2"]) process.on(signal, () => child.kill(signal));
  child.on("error", (error) => fail(`${path} can't be run: ${error.message}`));
  child.on("exit", (status, signal) => {
    if (signal === null) {
      process.exitCode = status;
      return;
    }
    process.removeAllListeners(signal);
    process.kill(process.pid, signal);
  });
}

if (require.main === module) {
  const path = binaryPath();
  if (path === null) explainAbsence();
  else run(path);
} else {
  module.exports = { path: binaryPath() };
}
