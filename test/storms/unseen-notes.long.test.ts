import { makeFakeQmd } from "@memslot/fakes/qmd";
import { type Random, randomFrom } from "@memslot/test-tools/random";
import { deterministicEmbeddings } from "@memslot/testkit";
import type { EmbeddingProvider, Memory } from "memslot";
import { expect, onTestFinished, test, vi } from "vitest";
import { ask, createHouse, inSlot, useHouse, withQmd } from "../support/temp-workspace.ts";
import { seeded, stormSeed, stormSize } from "../support/storm-size.ts";

vi.setConfig({ testTimeout: 30 * 60_000 });

const lancedb = inSlot("memory-lancedb");

async function storm(name: string, corpora: number, subject: Subject): Promise<number> {
  let questions = 0;
  for (let number = 0; number < corpora; number++)
    questions += await compareWithoutPrivateNotes(stormSeed(number), subject);
  const counts = `${corpora} corpora, ${questions} questions of a group, 0 answers changed by private notes`;
  process.stdout.write(`${name}: ${counts}\n`);
  return questions;
}

test.each<[string, number, Subject]>([
  ["memory-core", stormSize(100), { settings: {} }],
  ["memory-core by meaning", stormSize(30), { settings: {}, embeddings: deterministicEmbeddings }],
  ["memory-lancedb", stormSize(30), { settings: lancedb }],
  ["memory-lancedb by meaning", stormSize(20), { settings: lancedb, embeddings: deterministicEmbeddings }],
])(`%s: %i times with and without private notes (${seeded})`, async (name, corpora, subject) => {
  expect(await storm(name, corpora, subject)).toBe(corpora * 10);
});

test(`memory-qmd, with a scripted qmd, with and without private notes (${seeded})`, async () => {
  const corpora = stormSize(20);
  const fake = makeFakeQmd();
  onTestFinished(() => fake.remove());
  expect(await storm("memory-qmd", corpora, { settings: withQmd(fake) })).toBe(corpora * 10);
});

test.each(["memory-core", "memory-lancedb"])(
  "%s finds a word of a group's notes beside one that stands in a private note, among thousands of notes",
  async (memory) => {
    const parts = stormSize(11);
    const house = useHouse();
    const lines = (count: number, about: string): string =>
      Array.from(
        { length: count },
        (_, at) =>
          `# ${about} ${at}\n\nWe deploy release ${at} of the ${about}. ${"It went as it always goes, ".repeat(8)}\n`,
      ).join("\n");
    house.write({
      "MEMORY.md": "The trip to Zanzibar is a secret.\n",
      "team/how.md": "# How\n\nTo deploy, press the green button.\n",
      ...Object.fromEntries(Array.from({ length: parts }, (_, at) => [`memory/${at}.md`, lines(500, `part${at}`)])),
    });
    const memorySearch = {
      extraPaths: [house.at("team")],
      chunking: { tokens: 50, overlap: 0 },
      sync: { watch: false },
    };
    const opened = await house.open({ settings: inSlot(memory), memorySearch });
    await opened.sync();
    expect(opened.status().chunks).toBeGreaterThan(450 * parts);
    const results = await opened.search("deploy zanzibar", { sessionKey: "agent:main:telegram:group:-100" });
    expect(results.map(({ path }) => path)).toEqual(["team/how.md"]);
  },
);

const groupKey = "agent:main:telegram:group:-100";

/** Words of all notes, those of private notes alone, and beginnings and numbers of both. */
const common =
  "deploy plan planet plankton heron nest server cluster invoice garden tomato release 上海 会议 node.js QX-7919";
const secret = "zanzibar divorce planetarium heronry invoice-4711 病院 diagnosis";
const [commonWords, secretWords] = [common.split(" "), secret.split(" ")];
const beginnings: readonly string[] = ["plan", "zanz", "hero", "inv", "上", "diag"];

/** One backend whose answers to a group are compared: with the private notes, and without. */
interface Subject {
  settings: Readonly<Record<string, unknown>>;
  /** Makes the provider of one house. Absent: words alone. */
  embeddings?: (() => EmbeddingProvider) | undefined;
}

/** How many questions were compared. */
async function compareWithoutPrivateNotes(seed: number, subject: Subject): Promise<number> {
  const random = randomFrom(seed);
  const shared = notesIn(random, "team", 1 + random.below(12), commonWords);
  const own = notesIn(random, "memory", 1 + random.below(25), [...commonWords, ...secretWords, ...secretWords]);
  const questions = Array.from({ length: 10 }, () => question(random));
  const limits = questions.map(() => ({ maxResults: 1 + random.below(8), minScore: random.below(5) / 10 }));
  const answersOf = async (memory: Memory): Promise<string[]> => {
    const told: string[] = [];
    for (const [index, query] of questions.entries()) {
      const { results, report } = await ask(memory, query, { ...limits[index], sessionKey: groupKey });
      told.push(JSON.stringify({ query, results, report: { ...report, timingsMs: undefined } }));
      expect(report.state, JSON.stringify(report)).toBe("ok");
    }
    return told;
  };
  const without = await inHouse(shared, subject, answersOf);
  const withAll = await inHouse({ ...shared, ...own, "MEMORY.md": noteOf(random, secretWords) }, subject, answersOf);
  expect(withAll, `seed ${seed}`).toEqual(without);
  expect(without.join("\n")).toContain("team/");
  return questions.length;
}

async function inHouse<T>(
  notes: Record<string, string>,
  { settings, embeddings }: Subject,
  use: (memory: Memory) => Promise<T>,
): Promise<T> {
  const house = createHouse();
  try {
    house.write(notes);
    house.letSettle();
    const memorySearch = { extraPaths: [house.at("team")], sync: { watch: false, onSearch: false } };
    const memory = await house.open({ settings, memorySearch, embeddings: embeddings?.() });
    await memory.sync();
    return await use(memory);
  } finally {
    await house.end();
  }
}

function notesIn(random: Random, folder: string, count: number, words: readonly string[]): Record<string, string> {
  return Object.fromEntries(Array.from({ length: count }, (_, at) => [`${folder}/${at}.md`, noteOf(random, words)]));
}

function noteOf(random: Random, words: readonly string[]): string {
  const line = (): string => Array.from({ length: 1 + random.below(9) }, () => random.pick(words)).join(" ");
  return `# ${random.pick(words)}\n\n${Array.from({ length: 1 + random.below(30) }, line).join("\n")}\n`;
}

function question(random: Random): string {
  const others = "nothing 2026-05-04 heroon zanzibr divorse deplyo".split(" ");
  const all = [...commonWords, ...secretWords, ...beginnings, ...others];
  return Array.from({ length: 1 + random.below(4) }, () => random.pick(all)).join(" ");
}
