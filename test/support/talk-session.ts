import { writeSync } from "node:fs";
import { openSessions } from "@memslot/agent-kit";

/**
 * A process that says messages `m0`, `m1`, … up to a number in a session, each again until it is on the disk, compacts
 * now and then, and begins anew once. It tells `said <session> <id>` and `failed <code>`, a line each.
 */
const [stateDir = "", sessionKey = "", count = "0"] = process.argv.slice(2);
const tell = (line: string): void => void writeSync(1, `${line}\n`);

async function insist<T>(run: () => Promise<T>): Promise<T> {
  for (let left = 20; ; left--) {
    try {
      return await run();
    } catch (error) {
      tell(`failed ${String((error as { code?: unknown }).code)}`);
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
  tell(`said ${session.id} ${id}`);
  if (number % 6 === 4) await insist(() => session.compact({ summary: id, firstKeptId: id, tokensBefore: 1 }));
  if (number === 13) session = await insist(() => sessions.reset(sessionKey));
}
await insist(() => sessions.close());
tell("closed");
