import { type MemoryFlush, type Session, compactSession, createMemoryFlush, openSessions } from "@memslot/agent-kit";
import { type Memory, parseConfig } from "memslot";
import { notesOf } from "./flush-host.ts";
import { flushModels } from "./flush-models.ts";
import { type Fact, factsOf } from "./flush-talk.ts";
import { type House, createHouse } from "./house.ts";

/** What became of the facts that left a conversation. */
export interface StormCount {
  /** Facts that left the context. */
  readonly dropped: number;
  readonly inNotes: number;
  /** Not in the notes, and found by a search. */
  readonly found: number;
  /** In no note, and not to be found. */
  readonly lost: readonly string[];
  /** Facts that stand in the notes more than once. */
  readonly repeated: readonly string[];
  /** What the flush said it did, each state once. */
  readonly states: readonly string[];
}

const sessionKey = "agent:main:main";
/** How many facts are said between two compactions. */
const everyFacts = 6;
/** Later starts of the host, at each of which the journal is tried again. */
const restarts = 3;

/** One conversation with one model, by the words of `flushModels`, in a house of its own. */
export async function runFlushStorm(conversation: number, model: string, facts = 30): Promise<StormCount> {
  const house = createHouse();
  try {
    return await talk(house, factsOf(conversation, facts), model);
  } finally {
    await house.end();
  }
}

async function talk(house: House, facts: readonly Fact[], model: string): Promise<StormCount> {
  const { stateDir } = house;
  const runTurn = flushModels[model]?.(facts);
  const defaults = { workspace: house.notes, userTimezone: "UTC" };
  const agent = parseConfig({ agents: { defaults } }, { stateDir, env: {} }).agent("main");
  const memory = await house.open();
  const states = new Set<string>();
  const start = Date.parse("2026-03-05T09:00:00.000Z");
  let minute = 0;
  const clock = (): Date => new Date(start + minute++ * 60_000);

  const sessions = await openSessions({ stateDir, agentId: "main", clock });
  const session = await sessions.open(sessionKey);
  const openFlush = (): Promise<MemoryFlush> =>
    createMemoryFlush({
      agent,
      stateDir,
      session,
      memory,
      runTurn,
      contextWindowTokens: 16_000,
      clock,
      retryDelaysMs: [0, 0],
      turnDeadlineMs: model === "stops in the middle" ? 60 : 60_000,
      onReport: ({ state }) => void states.add(state),
    });
  let flush = await openFlush();
  try {
    for (const [index, { said }] of facts.entries()) {
      await session.append({ role: "user", text: said }, { role: "assistant", text: `All right. ${filler(index)}` });
      if (index % everyFacts !== everyFacts - 1) continue;
      await compactSession({ session, keepTokens: 400, flush });
      // The last compaction is followed by the end of the process, in the middle of the turn.
      if (index < facts.length - 1) await flush.settled();
    }
    for (let count = 0; count < restarts; count++) {
      await flush.close();
      flush = await openFlush();
      flush.retry();
      await flush.settled();
    }
    return { ...(await countOf({ house, memory, session, facts })), states: [...states] };
  } finally {
    await flush.close();
    await sessions.close();
  }
}

/** What an assistant says that nobody has to know again. */
function filler(index: number): string {
  const lines = ["That sounds good to me.", "Let me know when there is more to do.", "I will look at the list again."];
  return Array.from({ length: 12 }, (_, line) => lines[(index + line) % lines.length]).join(" ");
}

async function countOf(input: {
  house: House;
  memory: Memory;
  session: Session;
  facts: readonly Fact[];
}): Promise<Omit<StormCount, "states">> {
  const { house, memory, session, facts } = input;
  const kept = session.context.messages.map(({ text }) => text).join("\n");
  const dropped = facts.filter(({ said }) => !kept.includes(said));
  const lines = [...notesOf(house).values()].flatMap((text) => text.split("\n"));
  const timesIn = ({ mark }: Fact): number => lines.filter((line) => line.includes(mark)).length;
  await memory.sync();
  const left = dropped.filter((fact) => timesIn(fact) === 0);
  const lost: string[] = [];
  for (const fact of left) if (!(await isFound(memory, fact))) lost.push(fact.said);
  return {
    dropped: dropped.length,
    inNotes: dropped.length - left.length,
    found: left.length - lost.length,
    lost,
    repeated: facts.filter((fact) => timesIn(fact) > 1).map(({ said }) => said),
  };
}

/** As somebody in the owner's session would: by a question, and by opening what it names. */
async function isFound(memory: Memory, { question, mark }: Fact): Promise<boolean> {
  const results = await memory.search(question, { maxResults: 6, sessionKey });
  for (const { path: relPath, startLine, endLine, snippet } of results) {
    if (!snippet.includes(mark)) continue;
    const read = await memory.readFile({ relPath, from: startLine, lines: endLine - startLine + 1, sessionKey });
    if (read.text.includes(mark)) return true;
  }
  return false;
}
