import { mkdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import { type ConversationMessage, openConversationJournal } from "@memslot/agent-kit";
import { assistant, claudeSession, user } from "@memslot/fakes/clients";
import { type Memory, parseConfig } from "memslot";
import { beforeAll, describe, expect, test } from "vitest";
import asked from "../data/clients/asked-before.json" with { type: "json" };
import { ask, type House, useHouse } from "../support/temp-workspace.ts";

type Said = readonly (readonly string[])[];

const day = "2026-11-20T10:00:00Z";
const idOf = (at: number): string => `5bcaad77-176e-4029-8ecb-${String(at).padStart(12, "0")}`;

/** A session as its program and the hooks keep it: transcript, journal, and a digest in the daily log. */
async function hold(
  house: House,
  sessionId: string,
  said: Said,
  keep = { transcript: true, digest: true },
): Promise<void> {
  const turns = said.flatMap(([question = "", answer = ""]) => [user(question), assistant(answer)]);
  if (keep.transcript) claudeSession(house.folder, house.folder, sessionId, turns);
  const config = parseConfig(
    { agents: { defaults: { workspace: house.notes, userTimezone: "UTC" } } },
    { stateDir: house.stateDir, env: {} },
  );
  const journal = await openConversationJournal({
    agent: config.agent("main"),
    stateDir: house.stateDir,
    sessionKey: `agent:main:hook:claude-code-${sessionId}`,
    from: { client: "claude-code", sessionId, project: "app" },
    clock: () => new Date(day),
  });
  const messages = turns.map(({ role, text }, at): ConversationMessage => ({ role, id: `${at}`, at: day, text }));
  await journal?.add(messages);
  if (keep.digest) await journal?.digest();
}

const open = async (house: House): Promise<Memory> =>
  await house.open({ projectDir: house.folder, memorySearch: { sources: ["memory", "claude-code"] } });

describe("conversations that asked for what MEMORY.md holds", () => {
  let memory: Memory;

  beforeAll(async () => {
    const house = useHouse({ "MEMORY.md": `${asked.notes.join("\n")}\n` });
    for (const [at, { said }] of asked.cases.entries()) await hold(house, idOf(at), said);
    memory = await open(house);
  });

  test.each(asked.cases.map((each, at) => ({ ...each, at })))("$query", async ({ query, answer, at }) => {
    const { results } = await ask(memory, query);
    expect(results[0]).toMatchObject({ path: "MEMORY.md", snippet: expect.stringContaining(answer) });
    const ofSession = results.filter(
      ({ path: place, snippet }) =>
        place.includes(idOf(at)) || asked.cases[at]?.said.some(([, said = ""]) => snippet.includes(said)),
    );
    expect(new Set(ofSession.map(({ source, path: place }) => `${source} ${place}`)).size).toBeLessThan(2);
    // With the notes alone, as the hooks ask: their digests repeat the question too.
    const notes = await ask(memory, query, { sources: ["memory"] });
    expect(notes.results[0]).toMatchObject({ path: "MEMORY.md", snippet: expect.stringContaining(answer) });
  });
});

describe("a conversation that answers", () => {
  test.each(asked.answered)("precedes a note of the same topic, and one that only asked: $query", async (each) => {
    const house = useHouse({ "MEMORY.md": `${each.notes.join("\n")}\n` });
    await hold(house, idOf(1), each.asked);
    await hold(house, idOf(2), each.said);
    const { results } = await ask(await open(house), each.query);
    expect(results[0]?.path).toContain(idOf(2));
    expect(results[0]?.snippet).toContain(each.answer);
  });

  const said = [["Who repairs the ferry?", "Okapi Marine repairs the ferry."]];

  test("is cited from its journal if its program no longer has it, and from its digest if nothing else has it", async () => {
    const house = useHouse();
    await hold(house, idOf(1), said, { transcript: false, digest: true });
    const memory = await open(house);
    const { results } = await ask(memory, "who repairs the ferry");
    expect(results.map(({ source }) => source)).toEqual(["journal"]);
    const [digest] = (await ask(memory, "who repairs the ferry", { sources: ["memory"] })).results;
    expect(digest?.snippet).toContain(`session ${idOf(1)}`);
    expect(digest?.snippet).toContain("Okapi Marine repairs the ferry.");
  });

  const boats = [
    "# Boats\n\n- Okapi Marine has the ferry in its care since spring.",
    "The mooring costs 40 a month.",
    "The tide table hangs at the door.",
    "The harbour office opens at nine.",
    "Diesel comes on Mondays.",
    "Okapi Marine repairs boats of the town.",
  ];

  test("follows the note that holds the answer, also where its digest is beside other notes of the day", async () => {
    const house = useHouse({
      "MEMORY.md": `${boats.join("\n- ")}\n`,
      "memory/2026-11-20.md": "# 2026-11-20\n\n- 09:00 Bought paint.\n",
    });
    await hold(house, idOf(1), said, { transcript: false, digest: true });
    const { results } = await ask(await open(house), "who repairs the ferry", { sources: ["memory"] });
    expect(results.map(({ path: place }) => place)).toEqual(["MEMORY.md", "memory/2026-11-20.md"]);
  });

  test("is left out while it runs in this project, until a compaction, and says why", async () => {
    const house = useHouse({ "MEMORY.md": "- The ferry is painted green.\n" });
    await hold(house, idOf(1), said, { transcript: true, digest: false });
    const memory = await open(house);
    const sources = async (): Promise<string[]> =>
      (await ask(memory, "who repairs the ferry")).results.map(({ source }) => source).toSorted();
    const mark = (text: object): void => {
      mkdirSync(path.join(house.stateDir, "hooks/running"), { recursive: true });
      writeFileSync(path.join(house.stateDir, "hooks/running/claude-code-1"), JSON.stringify(text));
    };
    expect(await sources()).toEqual(["claude-code", "memory"]);
    mark({ sessionId: idOf(1), cwd: house.folder });
    expect(await sources()).toEqual(["memory"]);
    const place = `claude-code:/${house.folder.replaceAll(/[^a-zA-Z0-9]/g, "-")}/${idOf(1)}.jsonl`;
    const why = await memory.why("who repairs the ferry", { path: place });
    expect(why?.sentence).toContain("its session is running in this project");
    mark({ sessionId: idOf(1), cwd: path.join(house.folder, "elsewhere") });
    expect(await sources()).toEqual(["claude-code", "memory"]);
    mark({});
    expect(await sources()).toEqual(["claude-code", "memory"]);
  });
});

test("the lines of memslot connect in CLAUDE.md, AGENTS.md and GEMINI.md are no notes, in whatever layout", async () => {
  const block =
    "<!-- memslot connect: begin -->\n## Memory\n\nSearch the okapi notes.\n<!-- memslot connect: end -->\n";
  const house = useHouse({
    "CLAUDE.md": `# Project\n\nThe okapi build uses pnpm.\n\n${block}`,
    "AGENTS.md": block,
    "sub/GEMINI.md": block.replaceAll("\n", "\r\n"),
  });
  const memory = await house.open({ memorySearch: { notes: "all" } });
  const { results } = await ask(memory, "search the okapi notes");
  expect(results.map((each) => [each.path, each.snippet.includes("okapi notes")])).toEqual([["CLAUDE.md", false]]);
});
