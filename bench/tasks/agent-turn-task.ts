import { setTimeout as sleep } from "node:timers/promises";
import {
  type FlushTurn,
  type MemoryFlush,
  type Session,
  createMemoryFlush,
  createMemoryTools,
  openSessions,
  runToolCall,
} from "@memslot/agent-kit";
import { loadConfig, openMemory } from "memslot";

/**
 * What a flush adds to the user's turn, in a process of its own: `node agent-turn-task.ts WORKSPACE`. The same turns with
 * a scripted model: with no flush; while the flush of a slow model goes on behind them; and with `beforeDrop` before the
 * model is asked. Prints the milliseconds of every turn, for each of the three, as JSON.
 */
const [workspace = ""] = process.argv.slice(2);
const rounds = 5;
const turnsInRound = 20;
const dropsInRound = 4;
/** Of the model that answers the user: once for the call of a tool, once for the answer. */
const replyMs = 25;
const flushMs = 2000;
const contextWindowTokens = 200_000;

const config = await loadConfig({ workspace });
const agent = config.agent("main");
const memory = await openMemory({ config, agentId: "main", notify: () => {} });
const sessions = await openSessions({ stateDir: config.stateDir, agentId: "main" });
const tools = createMemoryTools({ memory, citations: "on" });
const times: Record<"off" | "soft" | "drop", number[]> = { off: [], soft: [], drop: [] };
let asked = 0;
let flushed = 0;

/** A model that takes its time: it keeps one note on the way, and has nothing to say. */
const slowFlush: FlushTurn = async ({ tools: given, signal }) => {
  await sleep(flushMs / 4, undefined, { signal });
  const note = { text: `Kept by flush ${flushed}.`, kind: "daily" };
  const kept = await runToolCall(given, { name: "memory_append", arguments: JSON.stringify(note) }, { signal });
  if (!("state" in kept) || kept.state !== "appended") throw new Error(`it was not kept: ${JSON.stringify(kept)}`);
  await sleep((flushMs * 3) / 4, undefined, { signal });
  flushed++;
  return "NO_REPLY";
};

/** From the user's message to the answer on disk. */
async function turn(session: Session, before?: () => Promise<unknown>): Promise<number> {
  const note = (asked++ * 37) % 1000;
  const query = JSON.stringify({ query: `access code of project zephyr${note}` });
  const started = performance.now();
  await session.append({ role: "user", text: `What is the access code of project zephyr${note}?` });
  await before?.();
  await sleep(replyMs);
  const found = await runToolCall(tools, { name: "memory_search", arguments: query });
  await sleep(replyMs);
  await session.append({ role: "assistant", text: JSON.stringify(found).slice(0, 400) });
  return performance.now() - started;
}

/** Forty messages, and the compaction that takes them out of the context: the next cycle, in which a flush may run. */
async function past(session: Session) {
  const said = `What was said long ago. `.repeat(80);
  const messages = Array.from({ length: 40 }, (_, index) => ({
    role: "user" as const,
    text: `Message ${index}. ${said}`,
  }));
  const old = await session.append(...messages);
  await session.compact({ summary: "What was said.", firstKeptId: undefined, tokensBefore: 190_000 });
  return old;
}

async function withFlush(session: Session, work: (flush: MemoryFlush) => Promise<void>): Promise<void> {
  const { stateDir } = config;
  const flush = await createMemoryFlush({ agent, stateDir, session, memory, runTurn: slowFlush, contextWindowTokens });
  try {
    await work(flush);
    await flush.settled();
  } finally {
    await flush.close();
  }
}

const [off, soft, drop] = [
  await sessions.open("agent:main:tui:bench-off"),
  await sessions.open("agent:main:tui:bench-soft"),
  await sessions.open("agent:main:tui:bench-drop"),
];
// The first turn loads what the others find loaded.
await turn(off);
for (let round = 0; round < rounds; round++) {
  await past(off);
  for (let count = 0; count < turnsInRound; count++) times.off.push(await turn(off));

  const old = await past(soft);
  await withFlush(soft, async (flush) => {
    const { compactionCount, memoryFlushCompactionCount } = soft.facts;
    const state = { contextTokens: 190_000, contextWindowTokens, compactionCount, memoryFlushCompactionCount };
    const started = flush.afterTurn(state, old);
    if (!started.flush) throw new Error(`no flush was started: ${started.reason}`);
    for (let count = 0; count < turnsInRound; count++) times.soft.push(await turn(soft));
  });

  for (let count = 0; count < dropsInRound; count++) {
    const lost = await past(drop);
    await withFlush(drop, async (flush) => {
      times.drop.push(await turn(drop, () => flush.beforeDrop(lost)));
    });
  }
}
if (flushed !== rounds * (1 + dropsInRound)) throw new Error(`${flushed} flushes came to their end`);
await sessions.close();
await memory.close();
console.log(JSON.stringify(times));
