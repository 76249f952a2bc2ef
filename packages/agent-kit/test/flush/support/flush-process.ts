// A conversation with flushes, in a process of its own that is killed somewhere. Prints one line for each step: what was
// acknowledged to the host (`dropped <id> …`), and that a flush turn has begun, noted something or ended.
import { writeSync } from "node:fs";
import { parseConfig } from "@memslot/core";
import { type FlushTurn, createMemoryFlush, openSessions, runToolCall } from "@memslot/agent-kit";

const [workspace = "", stateDir = "", turns = "0"] = process.argv.slice(2);
/** At once, so that what is printed was reached and what was reached is printed. */
const say = (line: string): void => void writeSync(1, `${line}\n`);

const agent = parseConfig(
  { agents: { defaults: { workspace, userTimezone: "Asia/Shanghai" } } },
  { stateDir, env: {} },
).agent("main");
const sessions = await openSessions({ stateDir, agentId: "main" });
const session = await sessions.open("agent:main:main");

let asked = 0;
const runTurn: FlushTurn = async ({ messages, tools }) => {
  say("turn");
  if (asked++ % 3 === 1) throw new Error("503 overloaded");
  for (const { role, text } of messages) {
    if (role !== "user") continue;
    await runToolCall(tools, { name: "memory_append", arguments: JSON.stringify({ text, kind: "daily" }) });
    say("noted");
  }
  say("end");
  return "NO_REPLY";
};

const flush = await createMemoryFlush({ agent, stateDir, session, runTurn, retryDelaysMs: [0, 0] });
flush.retry();
for (let turn = 0; turn < Number(turns); turn++) {
  const id = crypto.randomUUID();
  await session.append(
    { role: "user", id: `${id}-u`, text: `The user said ${id}-u.` },
    { role: "assistant", id: `${id}-a`, text: "Understood." },
  );
  if (turn % 2 === 0) continue;
  const messages = session.context.messages;
  await flush.beforeDrop(messages);
  say(`dropped ${messages.map((message) => message.id).join(" ")}`);
  await session.compact({ summary: "They talked.", firstKeptId: undefined, tokensBefore: 100 });
  say("compacted");
}
await flush.settled();
await flush.close();
await sessions.close();
say("closed");
