import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import {
  type FlushTurn,
  type MemoryFlush,
  type Session,
  compactSession,
  createMemoryFlush,
  openSessions,
  runToolCall,
} from "@memslot/agent-kit";
import { type Memory, parseConfig } from "memslot";
import { type House, createHouse } from "./temp-workspace.ts";

/** One thing that a user says, as a person says it, with what it can be known by afterwards. */
interface Fact {
  readonly said: string;
  /** A name or a number that is in no other fact. */
  readonly mark: string;
  /** A question about it. */
  readonly question: string;
  /** The fact as a note, in several wordings. */
  readonly notes: readonly string[];
}

const data = JSON.parse(readFileSync(path.join(import.meta.dirname, "../data/flush-facts.json"), "utf8")) as Record<
  "names" | "families" | "months" | "things" | "surnames" | "givenNames",
  string[]
> & { facts: Fact[] };

const pick = <T>(list: readonly T[], index: number): T => list[index % list.length] as T;

/** The facts of a conversation. No mark occurs in two facts of any conversation: up to some hundreds, all names differ. */
function factsOf(conversation: number, count: number): Fact[] {
  return Array.from({ length: count }, (_, at) => {
    const index = conversation * count + at;
    const family = pick(data.families, Math.floor(index / data.names.length) + index);
    const given = pick(data.givenNames, index) + pick(data.givenNames, Math.floor(index / 3) + 5);
    const values: Record<string, string> = {
      person: `${pick(data.names, index)} ${family}`,
      day: `${(index % 27) + 1} ${pick(data.months, index)}`,
      figure: String(20_411 + index * 137),
      thing: pick(data.things, index),
      chinese: pick(data.surnames, index) + given,
    };
    const text = JSON.stringify(pick(data.facts, at));
    return JSON.parse(text.replaceAll(/\{(\w+)\}/g, (_all, key: string) => values[key] ?? key)) as Fact;
  });
}

type Turn = Parameters<FlushTurn>[0];

/** A model that keeps notes in its own way. Each call makes one that knows nothing yet. */
type FlushModel = (facts: readonly Fact[]) => FlushTurn;

/** Facts in what the model was given, a piece of a message included. */
function factsIn({ messages }: Turn, facts: readonly Fact[]): Fact[] {
  const text = messages.map((message) => message.text).join("\n");
  return facts.filter(({ mark }) => text.includes(mark));
}

async function callTool({ tools, signal }: Turn, name: string, text: string): Promise<void> {
  await runToolCall(tools, { name, arguments: text }, { signal });
}

async function note(turn: Turn, text: string): Promise<void> {
  await callTool(turn, "memory_append", JSON.stringify({ text, kind: "daily" }));
}

async function noteAll(turn: Turn, facts: readonly Fact[], wording: number): Promise<void> {
  for (const { notes } of facts) await note(turn, notes[wording % notes.length] ?? "");
}

const down = (): never => {
  throw new Error("503 the model is down");
};

/** Twelve models, as they are met: what they do with a flush turn, by what they do. */
export const flushModels: Readonly<Record<string, FlushModel>> = {
  "obeys well": (facts) => async (turn) => {
    await noteAll(turn, factsIn(turn, facts), 0);
    return "NO_REPLY";
  },
  "always NO_REPLY": () => async () => "NO_REPLY",
  "one useless note": () => async (turn) => {
    await note(turn, "The user talked about several things.");
    return "NO_REPLY";
  },
  "prose in place of tools": (facts) => async (turn) =>
    `I have noted:\n${factsIn(turn, facts)
      .map(({ said }) => `- ${said}`)
      .join("\n")}`,
  "broken memory_append, then NO_REPLY": (facts) => async (turn) => {
    for (const { notes } of factsIn(turn, facts))
      await callTool(turn, "memory_append", JSON.stringify({ text: notes[0], kind: "daily" }).slice(0, -9));
    return "NO_REPLY";
  },
  refuses: () => async () => "I'm sorry, but I can't help with that.",
  "unknown tool": (facts) => async (turn) => {
    for (const { notes } of factsIn(turn, facts))
      await callTool(turn, "save_memory", JSON.stringify({ fact: notes[0] }));
    return "NO_REPLY";
  },
  "writes, then fails": (facts) => async (turn) => {
    await noteAll(turn, factsIn(turn, facts), 0);
    return down();
  },
  "uses other words at each try, and fails": (facts) => {
    let tries = 0;
    return async (turn) => {
      await noteAll(turn, factsIn(turn, facts), tries++);
      return down();
    };
  },
  "writes 200 notes": (facts) => async (turn) => {
    const own = factsIn(turn, facts);
    for (let index = 0; index < 200 - own.length; index++) {
      await note(turn, `Remark ${index} on what was said, of no use to anybody.`);
      if (index % 6 === 5) await noteAll(turn, own.slice(Math.floor(index / 6), Math.floor(index / 6) + 1), 0);
    }
    return "NO_REPLY";
  },
  "empty and cut answers": () => {
    const answers = ["", "NO_REP", '{"name":"memory_app', "  \n"];
    let tries = 0;
    return async () => answers[tries++ % answers.length] ?? "";
  },
  "stops in the middle": (facts) => {
    let tries = 0;
    return async (turn) => {
      const own = factsIn(turn, facts);
      const half = own.slice(0, Math.ceil(own.length / 2));
      await noteAll(turn, half, tries++);
      // Until the time is over, or the host ends.
      return await new Promise<string>((_, reject) => {
        const stop = (): void => reject(new Error("stopped"));
        if (turn.signal.aborted) stop();
        turn.signal.addEventListener("abort", stop);
      });
    };
  },
};

/** What became of the facts that left a conversation. */
interface StormCount {
  /** Facts that left the context. */
  readonly dropped: number;
  readonly inNotes: number;
  /** Not in the notes, and found by a search. */
  readonly found: number;
  /** In no note, and not to be found. */
  readonly lost: readonly string[];
  /** Facts that stand in the notes more than once. */
  readonly repeated: readonly string[];
}

const sessionKey = "agent:main:main";
/** Facts between two compactions. */
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
    return await countOf(house, memory, session, facts);
  } finally {
    await flush.close();
    await sessions.close();
  }
}

/** Words of an assistant without a fact. */
function filler(index: number): string {
  const lines = ["That sounds good to me.", "Let me know when there is more to do.", "I will look at the list again."];
  return Array.from({ length: 12 }, (_, line) => lines[(index + line) % lines.length]).join(" ");
}

async function countOf(house: House, memory: Memory, session: Session, facts: readonly Fact[]): Promise<StormCount> {
  const kept = session.context.messages.map(({ text }) => text).join("\n");
  const dropped = facts.filter(({ said }) => !kept.includes(said));
  const names = readdirSync(house.notes, { recursive: true, encoding: "utf8" }).filter((name) => name.endsWith(".md"));
  const lines = names.flatMap((name) => readFileSync(house.at(name), "utf8").split("\n"));
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

/** In the owner's session: by a question, and by reading the place that it names. */
async function isFound(memory: Memory, { question, mark }: Fact): Promise<boolean> {
  const results = await memory.search(question, { maxResults: 6, sessionKey });
  for (const { path: relPath, startLine, endLine, snippet } of results) {
    if (!snippet.includes(mark)) continue;
    const read = await memory.readFile({ relPath, from: startLine, lines: endLine - startLine + 1, sessionKey });
    if (read.text.includes(mark)) return true;
  }
  return false;
}
