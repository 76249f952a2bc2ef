import { makeFakeQmd } from "@memslot/fakes/qmd";
import { deterministicEmbeddings } from "@memslot/testkit";
import { expect, onTestFinished, test, vi } from "vitest";
import { inSlot, useHouse, withQmd } from "../support/house.ts";
import { seeded, stormSeed, stormSize } from "../support/storm-size.ts";
import { compareWithoutPrivateNotes, type Subject } from "../support/unseen-notes.ts";

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
