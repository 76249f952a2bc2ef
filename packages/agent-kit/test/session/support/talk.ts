import { writeSync } from "node:fs";
import { openSessions } from "@memslot/agent-kit";

/**
 * A process that goes on with a session: it says messages with the ids `m0`, `m1`, … from a number on, in turns of four, and
 * compacts after every fifth turn. What is on the disk is told, a line each:
 * `said <id>`, `compacted <first id that is kept>`, `noted <count>`. It ends when it is killed, or
 * with `failed <why>`.
 */
const [stateDir = "", sessionKey = "", from = "0"] = process.argv.slice(2);
const tell = (line: string): void => void writeSync(1, `${line}\n`);

const sessions = await openSessions({ stateDir, agentId: "main" });
const session = await sessions.open(sessionKey);
tell(`opened ${session.id}`);
process.once("uncaughtException", (error) => {
  tell(`failed ${error.message}`);
  process.exit(1);
});
for (let number = Number(from); ; number += 4) {
  const id = (offset: number): string => `m${number + offset}`;
  const call = { id: "call", name: "memory_append", arguments: `{"text": "fact ${number}"}` };
  await session.append({ role: "user", id: id(0), text: `question ${number} ${"x".repeat(number % 3_000)}` });
  tell(`said ${id(0)}`);
  await session.append(
    { role: "assistant", id: id(1), text: "", toolCalls: [call] },
    { role: "tool", id: id(2), toolCallId: "call", toolName: "memory_append", text: "ok" },
  );
  tell(`said ${id(1)}`);
  tell(`said ${id(2)}`);
  await session.append({ role: "assistant", id: id(3), text: `answer ${number}` });
  tell(`said ${id(3)}`);
  if (number % 20 !== 16) continue;
  await session.compact({ summary: `all before ${id(0)}`, firstKeptId: id(0), tokensBefore: 100 });
  tell(`compacted ${id(0)}`);
  const { compactionCount } = session.facts;
  await session.update({ memoryFlushCompactionCount: compactionCount });
  tell(`noted ${compactionCount}`);
}
