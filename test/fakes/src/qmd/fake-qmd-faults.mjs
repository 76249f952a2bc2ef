/** What goes wrong with the scripted qmd, as `behaviour.json` in its folder asks for it, and what it writes down. */
import { spawn } from "node:child_process";
import { appendFileSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { Failure } from "./fake-qmd-index.mjs";

/** What is asked for all commands, and over it what is asked for this one. */
export function faultOf({ tool, command }) {
  const behaviour = JSON.parse(readFileSync(join(tool, "behaviour.json"), "utf8"));
  return { ...behaviour.all, ...behaviour[command] };
}

/** The faults that every command can have before it does anything. */
export async function beforehand(context, fault) {
  const { command, tool } = context;
  if (fault.notBuilt) throw new Failure(`qmd is not built: missing ${join(tool, "dist/cli/qmd.js")}`);
  if (fault.crash) await end(fault.crash);
  if (fault.grandchild) {
    const holder = spawn(process.execPath, ["-e", "setInterval(() => {}, 1000)"], {
      stdio: ["ignore", "inherit", "inherit"],
    });
    // It is left behind when this process ends.
    holder.unref();
    log(tool, { kind: "grandchild", child: holder.pid });
  }
  if (fault.stderr) process.stderr.write(fault.stderr);
  if (fault.busy) throw new Failure("SqliteError: database is locked\n  code: 'SQLITE_BUSY'");
  if (command === "mcp") return;
  if (fault.slowMs) await new Promise((resolve) => setTimeout(resolve, fault.slowMs));
  // As the loop of a real update, which listens to no signal before its end.
  if (fault.blockMs) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, fault.blockMs);
  if (fault.hang) await forever();
}

/** Ends as by a signal from outside, after what was written has left. */
export async function end(signal) {
  await new Promise((resolve) => process.stdout.write("", resolve));
  process.removeAllListeners(signal);
  process.kill(process.pid, signal);
  await forever();
}

function forever() {
  return new Promise(() => void setInterval(() => {}, 1000));
}

export function log(tool, entry) {
  appendFileSync(join(tool, "log.jsonl"), `${JSON.stringify({ pid: process.pid, at: Date.now(), ...entry })}\n`);
}

export function print(text) {
  process.stdout.write(`${text}\n`);
}

export function complain(text) {
  process.stderr.write(`${text}\n`);
}
