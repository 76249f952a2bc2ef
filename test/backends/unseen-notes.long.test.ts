import path from "node:path";
import { makeFakeQmd } from "@memslot/fakes/qmd";
import { deterministicEmbeddings } from "@memslot/testkit";
import { expect, onTestFinished, test } from "vitest";
import { useHouse } from "../support/house.ts";
import { compareWithoutPrivateNotes } from "../support/unseen-notes.ts";

const lancedb = { plugins: { slots: { memory: "memory-lancedb" } } };

test.each([
  ["memory-core", { settings: {} }],
  ["memory-core, by meaning too", { settings: {}, embeddings: deterministicEmbeddings }],
  ["memory-lancedb", { settings: lancedb }],
  ["memory-lancedb, by meaning too", { settings: lancedb, embeddings: deterministicEmbeddings }],
])("%s tells a group the same, whatever the owner has written", async (_backend, subject) => {
  for (const seed of [1, 2, 3]) expect(await compareWithoutPrivateNotes(seed, subject)).toBe(10);
});

test("memory-qmd tells a group the same, whatever the owner has written", async () => {
  const fake = makeFakeQmd();
  onTestFinished(() => fake.remove());
  const settings = { memory: { backend: "qmd", qmd: { command: fake.command, fallback: "none" } } };
  expect(await compareWithoutPrivateNotes(4, { settings })).toBe(10);
});

test.each(["memory-core", "memory-lancedb"])(
  "%s finds a word of a group's notes beside one that stands in a private note, among thousands of notes",
  async (memory) => {
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
      ...Object.fromEntries(Array.from({ length: 11 }, (_, at) => [`memory/${at}.md`, lines(500, `part${at}`)])),
    });
    const memorySearch = {
      extraPaths: [path.join(house.notes, "team")],
      chunking: { tokens: 50, overlap: 0 },
      sync: { watch: false },
    };
    const opened = await house.open({ settings: { plugins: { slots: { memory } } }, memorySearch });
    await opened.sync();
    expect(opened.status().chunks).toBeGreaterThan(5000);
    const results = await opened.search("deploy zanzibar", { sessionKey: "agent:main:telegram:group:-100" });
    expect(results.map(({ path }) => path)).toEqual(["team/how.md"]);
  },
);
