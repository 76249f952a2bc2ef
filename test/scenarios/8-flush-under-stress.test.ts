import { execFileSync } from "node:child_process";
import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { type FlushTurn, runToolCall } from "@memslot/agent-kit";
import { describe, expect, test } from "vitest";
import { type FlushHost, journalIds, notesOf, sessionRecord, startFlushHost } from "../support/flush-host.ts";
import { type House, useHouse } from "../support/house.ts";

type Turn = Parameters<FlushTurn>[0];

/** Calls a tool as a host's loop does, errors included. */
async function call({ tools, signal }: Turn, name: string, input: object): Promise<object> {
  return await runToolCall(tools, { name, arguments: JSON.stringify(input) }, { signal });
}

/** One note for each message of the user, that names it. */
async function noteAll(turn: Turn, textOf = (id: string): string => `The user said fact ${id}.`): Promise<void> {
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
const midnights = [
  { timeZone: "Asia/Shanghai", midnight: "2026-03-05T16:00:00.000Z" },
  { timeZone: "Europe/Amsterdam", midnight: "2026-03-29T22:00:00.000Z" },
  { timeZone: "America/New_York", midnight: "2026-11-01T04:00:00.000Z" },
];

const ways = [
  { way: "overflows in a single jump", tokens: 20_000, jump: true },
  { way: "crosses the soft limit", tokens: 12_000, jump: false },
];

/** The words of a message of so many tokens. */
function long(tokens: number, word: string): string {
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

const cases = midnights.flatMap((when, index) =>
  ways.flatMap((way) =>
    // All of it in the first time zone; in the others what depends on the day.
    misbehaviours
      .filter(({ model }) => index === 0 || model === "writes another date" || model === "fails three times")
      .map((misbehaviour) => ({ ...when, ...way, ...misbehaviour })),
  ),
);

test.each(cases)(
  "around midnight in $timeZone, a message that $way, with a model that $model",
  async ({ timeZone, midnight, tokens, jump, create, fails, notes }) => {
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
  },
);

/** Every message that was dropped was handed over, or is in the journal. */
function expectAllSafe(host: FlushHost, house: House, given: ReadonlySet<string>): void {
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

describe("notes that cannot be written", () => {
  test("are said, and every message is in the journal, and noted when they can be", async () => {
    const house = useHouse();
    const host = await startFlushHost({ house, timeZone: "UTC", runTurn: noteAllAndDone, clock: () => new Date() });
    rmSync(path.join(house.notes, "memory"), { recursive: true });
    writeFileSync(path.join(house.notes, "memory"), "not a folder");
    for (let index = 0; index < 3; index++) await host.ask(long(12_000, `word${index}`));
    const report = await host.flush.settled();
    expect(host.dropped).not.toEqual([]);
    expect(report).toMatchObject({ state: "skipped", reason: expect.stringContaining("cannot be written") as string });
    expect(sessionRecord(house)["memoryFlushError"]).toBe(report?.reason);
    expectAllSafe(host, house, new Set());
    expect(host.shown).toHaveLength(3);
    rmSync(path.join(house.notes, "memory"));
    host.flush.retry();
    expect(await host.flush.settled()).toMatchObject({ state: "done" });
    expect(sessionRecord(house)).not.toHaveProperty("memoryFlushError");
    expect(journalIds(house)).toEqual([]);
  });

  test.runIf(canMount())("on a read-only mount", () => {
    const house = useHouse();
    house.write({ "MEMORY.md": "- Kept for ever.\n" });
    const script = path.join(house.folder, "drop.ts");
    writeFileSync(
      script,
      `import { createMemoryFlush, openSessions } from ${JSON.stringify(import.meta.resolve("@memslot/agent-kit"))};
      import { parseConfig } from ${JSON.stringify(import.meta.resolve("memslot"))};
      const [workspace, stateDir] = process.argv.slice(2);
      const agent = parseConfig({ agents: { defaults: { workspace } } }, { stateDir, env: {} }).agent("main");
      const sessions = await openSessions({ stateDir, agentId: "main" });
      const session = await sessions.open("agent:main:main");
      const messages = await session.append({ role: "user", text: "The boat is Heron." });
      const reports = [];
      for (const runTurn of [async () => "Saved.", undefined]) {
        const flush = await createMemoryFlush({ agent, stateDir, session, runTurn });
        await flush.beforeDrop(messages);
        flush.retry();
        reports.push(await flush.settled());
        await flush.close();
      }
      await sessions.close();
      console.log(JSON.stringify(reports));`,
    );
    const mount = `mount --bind "$1" "$1" && mount -o remount,ro,bind "$1" && ! touch "$1/x" 2>/dev/null && shift &&`;
    const output = execFileSync(
      "unshare",
      ["-m", "sh", "-c", `${mount} exec "$@"`, "sh", house.notes].concat(
        process.execPath,
        "--conditions=@memslot/source",
        script,
        house.notes,
        house.stateDir,
      ),
      { encoding: "utf8" },
    );
    const skipped = {
      state: "skipped",
      reason: expect.stringMatching(/cannot be written.*(?:EROFS|read-only)/) as string,
    };
    expect(JSON.parse(output)).toMatchObject([skipped, skipped]);
    expect(journalIds(house)).toHaveLength(1);
    expect(notesOf(house)).toEqual(new Map([["MEMORY.md", "- Kept for ever.\n"]]));
  });
});

const noteAllAndDone: FlushTurn = async (turn) => {
  await noteAll(turn);
  return "NO_REPLY";
};

/** Whether this system lets us mount, in a view of our own. */
function canMount(): boolean {
  if (process.platform !== "linux" || !existsSync("/usr/bin/unshare")) return false;
  try {
    execFileSync("unshare", ["-m", "mount", "--bind", "/tmp", "/tmp"], { stdio: "ignore" });
    return true;
  } catch {
    return false;
  }
}
