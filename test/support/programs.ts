// Programs that tests run in processes of their own: `programs.ts NAME ARGUMENT ...`.
import { closeSync, openSync, writeSync } from "node:fs";
import { appendNote, openSessions } from "@memslot/agent-kit";

const [program = "", ...given] = process.argv.slice(2);
const programs: Readonly<Record<string, (...args: string[]) => unknown>> = {
  "append-lines": appendLines,
  "write-notes": writeNotes,
  talk,
};
await programs[program]?.(...given);

function print(line: string): void {
  writeSync(1, `${line}\n`);
}

/** Appends numbered lines to a file, each with a call of its own as a logger does, until its input ends. */
function appendLines(file = "", name = "", pauseMs = "20"): void {
  let count = 0;
  const timer = setInterval(() => {
    const log = openSync(file, "a");
    writeSync(log, `- ${name} wrote entry${++count} of ${name}.\n`);
    closeSync(log);
  }, Number(pauseMs));
  process.stdin.resume().on("end", () => {
    clearInterval(timer);
    print(`count ${count}`);
  });
}

/** Appends notes with the tool's own function, and prints the word of each that is reported as written. */
async function writeNotes(workspaceDir = "", name = "", count = "0"): Promise<void> {
  for (let number = 0; number < Number(count); number++) {
    const word = `${name}n${number}`;
    const text = `The ferret ${word} sleeps. ${"It sleeps long. ".repeat(number % 5)}And that is the end of ${word}.`;
    await appendNote({ workspaceDir, text, kind: "daily", at: new Date(2026, 0, 5, 12), timeZone: "UTC" });
    print(word);
  }
}

/**
 * Writes messages `m0`, `m1`, ... into a session, each again until it is on the disk, compacts now and then, and starts a
 * new session once. Prints `said <session> <id>` and `failed <code>`.
 */
async function talk(stateDir = "", sessionKey = "", count = "0"): Promise<void> {
  async function insist<T>(run: () => Promise<T>): Promise<T> {
    for (let left = 20; ; left--) {
      try {
        return await run();
      } catch (error) {
        print(`failed ${String((error as { code?: unknown }).code)}`);
        if (left === 0) throw error;
      }
    }
  }
  const sessions = await insist(() => openSessions({ stateDir, agentId: "main" }));
  let session = await insist(() => sessions.open(sessionKey));
  for (let number = 0; number < Number(count); number++) {
    const id = `m${number}`;
    const role = number % 2 === 0 ? "user" : "assistant";
    await insist(() => session.append({ role, id, text: `message ${number} ${"x".repeat(number * 37)}` }));
    print(`said ${session.id} ${id}`);
    if (number % 6 === 4) await insist(() => session.compact({ summary: id, firstKeptId: id, tokensBefore: 1 }));
    if (number === 13) session = await insist(() => sessions.reset(sessionKey));
  }
  await insist(() => sessions.close());
  print("closed");
}
