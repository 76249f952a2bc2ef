import { writeFileSync } from "node:fs";
import path from "node:path";
import type { Memory } from "memslot";
import { describe, expect, test } from "vitest";
import { placedEmbeddings } from "../support/embedding-workspace.ts";
import { ask, type House, useHouse } from "../support/temp-workspace.ts";
import { sessionsFolder } from "../support/generated-notes.ts";
// A sentence, and queries that find it: parts of words where a script has no spaces, words and beginnings elsewhere.
import scripts from "../data/scripts.json" with { type: "json" };
import groups from "../data/search-cases.json" with { type: "json" };

const message = (content: string, role = "user"): string =>
  `${JSON.stringify({ type: "message", message: { role, content } })}\n`;

test.each(["words and meaning", "words alone"])(
  "one note is found among five hundred chunks of transcripts that match better, by %s",
  async (by) => {
    const house = useHouse({
      "memory/devices.md":
        "# Devices\n\nThe thing on the second floor that makes paper copies needs a printer driver.\n",
    });
    const talk = Array.from({ length: 600 }, (_, index) => {
      const text = `The printer in the office, printer question ${index}: ${`printer toner ${index} `.repeat(12)}`;
      return message(text, index % 2 === 0 ? "user" : "assistant");
    });
    writeFileSync(path.join(sessionsFolder(house), "long.jsonl"), talk.join(""));
    const byWords = by === "words alone";
    const near = (text: string): number => (text.includes("paper copies") ? 0.6 : 0.97);
    const memory = await house.open({
      embeddings: byWords ? undefined : placedEmbeddings(near),
      memorySearch: { sources: ["memory", "sessions"], chunking: { tokens: 60, overlap: 0 } },
    });
    expect(await memory.sync({ reason: "cli" })).toMatchObject({ added: 2, failed: [] });
    const count = memory.status().sourceCounts?.find(({ source }) => source === "sessions");
    expect(count?.chunks).toBeGreaterThan(500);

    for (const query of byWords ? ["printer toner question"] : ["printer toner question", "something else"]) {
      const filtered = await ask(memory, query, { sources: ["memory"], maxResults: 8 });
      expect(filtered.results[0]).toMatchObject({ path: "memory/devices.md", source: "memory" });
      expect(filtered.results.filter(({ source }) => source !== "memory")).toEqual([]);
      const sources = [{ source: "memory", candidates: 1, kept: 1 }];
      expect(filtered.report).toMatchObject({ state: "ok", sources, dropped: { source: 0 } });

      const all = await ask(memory, query, { maxResults: 8 });
      expect(all.paths).toContain("memory/devices.md");
      expect(all.results.filter(({ source }) => source === "sessions").length).toBeGreaterThan(0);
      expect(all.report.sources).toMatchObject([
        ...sources,
        { source: "sessions" },
        { source: "journal", candidates: 0, kept: 0 },
      ]);
      expect(all.report.sources?.[1]?.candidates).toBeGreaterThan(8);
      const sessionsOnly = await ask(memory, query, { sources: ["sessions"], maxResults: 8 });
      expect(sessionsOnly.results.filter(({ source }) => source !== "sessions")).toEqual([]);
    }
  },
);

describe("an identifier that one note has, whose vector is far from the question", () => {
  test.each([
    [0.7, 0.3],
    [1, 0],
    [0, 1],
  ])("is found with weights %f and %f, whatever score is asked for", async (vectorWeight, textWeight) => {
    const house = useHouse({
      "memory/needle.md": "# Colours\n\nThe paint of the door is QZV91-lime, bought in May.\n",
    });
    for (let index = 0; index < 30; index++)
      house.write({
        [`memory/other-${index}.md`]: `# Colours ${index}\n\nThe paint of door ${index} is lime or ochre, QZV${100 + index}.\n`,
      });
    const memory = await house.open({
      embeddings: placedEmbeddings((text) => (text.includes("QZV91") ? 0 : 0.9)),
      memorySearch: { query: { hybrid: { vectorWeight, textWeight } } },
    });
    await memory.sync();
    for (const query of ["QZV91-lime", "qzv91-lime", "which door is QZV91-lime"])
      for (const minScore of [undefined, 0.9]) {
        const { results, paths, report } = await ask(memory, query, { minScore, maxResults: 10 });
        const place = paths.indexOf("memory/needle.md");
        expect(place, `${query} with minScore ${minScore}`).toBeGreaterThanOrEqual(0);
        expect(results[place]?.snippet).toContain("QZV91-lime");
        expect(report.legs.keyword?.kept).toBeGreaterThan(0);
        // Best first, and nothing but the perfect answer is perfect.
        const scores = results.map(({ score }) => score);
        expect(scores).toEqual(scores.toSorted((left, right) => right - left));
        expect(scores.filter((score) => score === 1).length).toBeLessThanOrEqual(1);
      }
  });

  test("notes that have more of the question come first, with scores that differ", async () => {
    const words = ["heron", "kestrel", "plover", "dunlin"];
    const house = useHouse();
    for (let count = 1; count <= words.length; count++)
      house.write({
        [`memory/birds-${count}.md`]: `We saw ${words.slice(0, count).join(" and ")} at the lake today.\n`,
      });
    const { results, paths } = await ask(await house.open(), words.join(" "));
    expect(paths).toEqual([4, 3, 2, 1].map((count) => `memory/birds-${count}.md`));
    expect(new Set(results.map(({ textScore }) => textScore)).size).toBe(words.length);
  });
});

describe("text in every script", () => {
  const memorySearch = { sources: ["memory", "sessions"], chunking: { tokens: 50, overlap: 0 } };

  /** Notes and transcripts with the same sentences, among others of each script. */
  async function openMatrix(house: House, form: "NFC" | "NFD"): Promise<Memory> {
    const said: string[] = [];
    for (const [script, { text }] of Object.entries(scripts)) {
      house.write({ [`memory/${script}.md`]: `${text.normalize(form)}\n` });
      said.push(message(text.normalize(form)));
    }
    for (let index = 0; index < 40; index++)
      house.write({ [`memory/filler-${index}.md`]: `Note ${index} about the weather.\n` });
    writeFileSync(path.join(sessionsFolder(house), "talk.jsonl"), said.join(""));
    const memory = await house.open({ memorySearch });
    expect(await memory.sync({ reason: "cli" })).toMatchObject({ failed: [] });
    return memory;
  }

  test.each(["NFC", "NFD"] as const)(
    "written in %s is found in notes and transcripts, however the query is written",
    async (form) => {
      const memory = await openMatrix(useHouse(), form);
      for (const [script, { text, queries }] of Object.entries(scripts))
        for (const query of queries)
          for (const asked of [query.normalize("NFC"), query.normalize("NFD")]) {
            const { results, paths } = await ask(memory, asked, { maxResults: 8 });
            expect(paths, `${script}: ${asked}`).toContain(`memory/${script}.md`);
            const said = results.filter(({ source }) => source === "sessions");
            const snippets = said.map((result) => result.snippet.normalize("NFC")).join("\n");
            expect(snippets, `${script} in the transcript: ${asked}`).toContain(text.normalize("NFC"));
          }
    },
  );
});

type Case = { query: string; first: string; level?: string };

test.each(groups)("the right note comes first: $group", async ({ files, cases }) => {
  const memory = await useHouse(files as Record<string, string>).open();
  for (const { query, first, level } of cases as Case[]) {
    const { paths, report } = await ask(memory, query);
    expect.soft([paths[0] ?? "", level && report.match?.level], query).toEqual([first, level]);
  }
});
