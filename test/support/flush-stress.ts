import { readFileSync } from "node:fs";
import { type FlushTurn, runToolCall } from "@memslot/agent-kit";
import { expect } from "vitest";
import { type FlushHost, journalIds, notesOf, sessionRecord, startFlushHost } from "./flush-host.ts";
import { type House, useHouse } from "./house.ts";
import data from "../data/flush-stress.json" with { type: "json" };

type Turn = Parameters<FlushTurn>[0];

/** Calls a tool as a host's loop does, errors included. */
async function call({ tools, signal }: Turn, name: string, input: object): Promise<object> {
  return await runToolCall(tools, { name, arguments: JSON.stringify(input) }, { signal });
}

/** One note for each message of the user, that names it. */
export async function noteAll(turn: Turn, textOf = (id: string): string => `The user said fact ${id}.`): Promise<void> {
  for (const { role, id } of turn.messages)
    if (role === "user") await call(turn, "memory_append", { text: textOf(id), kind: "daily" });
}

interface Misbehaviour {
  readonly model: string;
  /** A new one for each run. */
  readonly create: (house: House) => FlushTurn;
  /** Its first flush fails with this reason. */
  readonly fails?: RegExp;
  readonly notes: boolean;
}

const misbehaviours: readonly Misbehaviour[] = [
  {
    model: "calls plain write on the file of the day",
    notes: true,
    create: (house) => async (turn) => {
      if (turn.messages.every(({ role }) => role !== "user")) return "NO_REPLY";
      for (const name of notesOf(house).keys())
        expect(await call(turn, "write", { path: name, content: "overwritten" })).toHaveProperty("error");
      await noteAll(turn);
      return "I have overwritten the file.";
    },
  },
  {
    model: "writes another date",
    notes: true,
    create: () => async (turn) => {
      if (turn.messages.every(({ role }) => role !== "user")) return "NO_REPLY";
      for (const field of ["path", "date", "file"])
        expect(
          await call(turn, "memory_append", { text: "x", kind: "daily", [field]: "memory/2020-01-01.md" }),
        ).toHaveProperty("error");
      await noteAll(turn, (id) => `memory/2020-01-01.md: on 2020-01-01 the user said fact ${id}.`);
      return "NO_REPLY";
    },
  },
  {
    model: "fails three times",
    notes: true,
    fails: /503 overloaded/,
    create: () => {
      let failures = 0;
      return async (turn) => {
        if (failures++ < 3) throw new Error("503 overloaded");
        await noteAll(turn);
        return "NO_REPLY";
      };
    },
  },
  { model: "says NO_REPLY", notes: false, create: () => async () => "**NO_REPLY**" },
  { model: "returns nothing", notes: false, fails: /empty answer/, create: () => async () => "" },
];

/** Local midnights; on the days of the last two the clocks change. */
const midnights: readonly { timeZone: string; midnight: string }[] = data.midnights;

const ways: readonly { way: string; tokens: number; jump: boolean }[] = data.ways;

/** The words of a message of so many tokens. */
export function long(tokens: number, word: string): string {
  return `${word} `.repeat(Math.ceil((tokens * 4) / (word.length + 1)));
}

/** A conversation that fills 60 % of what is there before a flush, over the last hour of a day. */
async function talkFor(host: FlushHost, setTime: (ms: number) => void, midnightMs: number): Promise<void> {
  for (let index = 0; index < 9; index++) {
    setTime(midnightMs - (60 - index * 5) * 60_000);
    await host.ask(long(1_800, `word${index}`));
  }
}

/** The day by another way than the code under test takes. */
function dayIn(timeZone: string, at: string): string {
  return new Date(at).toLocaleDateString("sv-SE", { timeZone });
}

/** Every misbehaviour around every midnight, each with both ways to fill the context. */
export const flushCases: readonly FlushCase[] = midnights.flatMap((when) =>
  ways.flatMap((way) => misbehaviours.map((misbehaviour) => ({ ...when, ...way, ...misbehaviour }))),
);

type FlushCase = (typeof midnights)[number] & (typeof ways)[number] & Misbehaviour;

/** A conversation around midnight whose facts are all noted on their day, or stay in the journal. */
export async function expectFlushed(flushCase: FlushCase): Promise<void> {
  const { timeZone, midnight, tokens, jump, create, fails, notes } = flushCase;

  const house = useHouse();
  const midnightMs = Date.parse(midnight);
  const today = dayIn(timeZone, new Date(midnightMs - 1_000).toISOString());
  const earlier = { "MEMORY.md": "- Kept for ever.\n", [`memory/${today}.md`]: "# Today\n\n- 08:00 Breakfast.\n" };
  house.write(earlier);

  let now = midnightMs;
  const answered = Promise.withResolvers<void>();
  const given = new Set<string>();
  const model = create(house);
  const runTurn: FlushTurn = async (turn) => {
    // A flush that the user had to wait for would never end.
    await answered.promise;
    const text = await model(turn);
    for (const { id } of turn.messages) given.add(id);
    return text;
  };
  const host = await startFlushHost({ house, timeZone, runTurn, clock: () => new Date(now) });
  await talkFor(host, (ms) => void (now = ms), midnightMs);
  expect(host.reports).toEqual([]);
  expect(host.dropped).toEqual([]);

  now = midnightMs - 2_000;
  const question = long(tokens, "question");
  await host.ask(question, () => void (now = midnightMs + 2_000));
  answered.resolve();
  const report = await host.flush.settled();
  expect(host.dropped.length > 0).toBe(jump);
  expectAllSafe(host, house, given);
  if (fails === undefined) {
    expect(report?.state).toBe(notes ? "done" : "nothing");
    expect(sessionRecord(house)).toMatchObject({ memoryFlushCompactionCount: 0 });
    expect(sessionRecord(house)).not.toHaveProperty("memoryFlushError");
  } else {
    expect(report).toMatchObject({ state: "failed", reason: expect.stringMatching(fails) as string });
    expect(sessionRecord(house)["memoryFlushError"]).toMatch(fails);
    expect(journalIds(house)).not.toEqual([]);
  }

  // Another one makes room of what was said around midnight.
  now = midnightMs + 600_000;
  await host.ask(long(20_000, "again"));
  // As at the next start of the session.
  host.flush.retry();
  await host.flush.settled();
  expect(host.dropped.at(-1)?.at).toBe(new Date(midnightMs + 2_000).toISOString());
  expectAllSafe(host, house, given);
  check({ host, house, earlier, question, timeZone, notes });

  // The same compaction once more.
  const before = notesOf(house);
  expect(await host.flush.beforeDrop(host.dropped)).toMatchObject({ state: "nothing" });
  await host.flush.settled();
  expect(notesOf(house)).toEqual(before);
}

/** Every message that was dropped was handed over, or is in the journal. */
export function expectAllSafe(host: FlushHost, house: House, given: ReadonlySet<string>): void {
  const safe = new Set([...given, ...journalIds(house)]);
  expect(host.dropped.filter(({ id }) => !safe.has(id))).toEqual([]);
}

function check({
  host,
  house,
  earlier,
  question,
  timeZone,
  notes,
}: {
  host: FlushHost;
  house: House;
  earlier: Record<string, string>;
  question: string;
  timeZone: string;
  notes: boolean;
}): void {
  const after = notesOf(house);
  // Earlier bytes of every note are what they were.
  for (const [name, text] of Object.entries(earlier)) expect(after.get(name)?.startsWith(text)).toBe(true);
  // What was noted is on the local day of its message, once, and nowhere else.
  const all = [...host.dropped, ...host.session.context.messages];
  const noted: string[] = [];
  for (const [name, text] of after) {
    for (const [, id = ""] of text.matchAll(/fact ([\w-]+)\./g)) {
      noted.push(id);
      expect(name).toBe(`memory/${dayIn(timeZone, all.find((each) => each.id === id)?.at ?? "")}.md`);
    }
  }
  const said = host.dropped.filter(({ role }) => role === "user").map(({ id }) => id);
  expect(noted.toSorted()).toEqual(notes ? said.toSorted() : []);
  // The user is answered exactly once, and sees no sentinel.
  const transcript = readFileSync(host.session.file, "utf8");
  expect(transcript.split(question)).toHaveLength(2);
  expect(host.session.unanswered).toBeUndefined();
  expect(host.shown).toHaveLength(11);
  expect(all.map(({ role }) => role)).toEqual(Array.from({ length: 11 }, () => ["user", "assistant"]).flat());
  expect(transcript + host.shown.join() + [...after.values()].join()).not.toMatch(/NO_REPLY|Pre-compaction/);
}
