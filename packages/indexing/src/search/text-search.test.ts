import { describe, expect, test } from "vitest";
import { type FoundChunk, matchTexts, withTerms } from "./text-search.ts";
import { contextFor, never, searchOptions, settingsWith, syncParams } from "../../test/support/context.ts";
import { chunksOf } from "./test/search-lab.ts";
import { outcomeOf } from "./search-outcome.ts";
import { noteTasks } from "../scan/note-worker-tasks.ts";
import { manageIndex } from "../manager.ts";
import { createFakeStore } from "../../test/support/fake-store.ts";
import { fakeEmbeddings } from "../../test/support/fake-embeddings.ts";
import { tempFolder } from "@memslot/test-tools/files";
import { searchAhead } from "../manager-search.ts";
import golden from "./test/golden-notes.json" with { type: "json" };

function foundIn(files: Readonly<Record<string, string>>, chunking?: Parameters<typeof chunksOf>[1]): FoundChunk[] {
  return Object.entries(files).flatMap(([path, text]) =>
    chunksOf(text, chunking).map((chunk) => ({ ...chunk, path, source: "memory" })),
  );
}

const files = golden.millNotes;

function ask(query: string, limit = 100): ReturnType<typeof matchTexts> {
  return matchTexts({ chunks: foundIn(files), query, chunkCount: 3, limit });
}

describe("the keyword leg over texts that are at hand", () => {
  test("gives those that hold a word, the best first, and how many hold each", async () => {
    const { answer, terms } = await ask("lynx mill");
    expect(answer.rows.map(({ path }) => path)).toEqual(["a.md", "b.md"]);
    expect(answer.rows[0]?.score).toBeGreaterThan(answer.rows[1]?.score ?? 0);
    expect(terms.map(({ term }, index) => [term, answer.documentFrequencies[index]])).toEqual([
      ["lynx", 1],
      ["mill", 2],
    ]);
  });

  test("gives no more than the limit, and nothing for a query without words", async () => {
    expect((await ask("mill", 1)).answer.rows).toHaveLength(1);
    expect((await ask("!!!")).answer.rows).toEqual([]);
  });

  test("counts the chunks of the whole index, and never fewer than there are here", async () => {
    const chunks = foundIn(files);
    expect((await matchTexts({ chunks, query: "mill", chunkCount: 500, limit: 9 })).answer.chunkCount).toBe(500);
    expect((await matchTexts({ chunks, query: "mill", chunkCount: 0, limit: 9 })).answer.chunkCount).toBe(3);
  });
});

const chunks = foundIn(golden.notes, { tokens: 60, overlap: 10 });

async function answerTo(query: string, byMeaning: boolean): Promise<string> {
  const keyword = await matchTexts({ chunks, query, chunkCount: chunks.length, limit: 100 });
  const rows = keyword.answer.rows.map((row, index) => ({ ...row, score: 0.4 + 0.05 * index }));
  const { results, report } = outcomeOf(
    {
      settings: settingsWith(),
      backend: "golden",
      query,
      options: searchOptions(),
      scope: () => undefined,
      now: new Date(2026, 2, 12),
    },
    [{ source: "memory", scope: undefined }],
    { keyword, vector: byMeaning ? { rows } : undefined, degraded: undefined, retrievalMs: 0 },
  );
  const lines = results.map(
    ({ score, path, startLine, endLine }) => `  ${score.toFixed(4)} ${path}#L${startLine}-L${endLine}`,
  );
  return [`${query}${byMeaning ? " (and by meaning)" : ""}: ${report.confidence?.toFixed(3)}`, ...lines].join("\n");
}

/** Shows what a changed weight moves. `vitest run -u` writes the file again. */
test("the ranking is what it was", async () => {
  const asked = golden.questions.flatMap((query) => [answerTo(query, false), answerTo(query, true)]);
  const answers = await Promise.all(asked);
  await expect(`${answers.join("\n\n")}\n`).toMatchFileSnapshot("test/golden-ranking.txt");
});

test("chunks from an index have the terms that they were cut with, in the language of their note", async () => {
  const german = "Das Fest ist am 26. Oktober 2020 mit den Nachbarn, und danach gibt es Kuchen.\n";
  const bytes = new TextEncoder().encode(`# Fest\n${german.repeat(8)}${"- Hunde, Bänke\n".repeat(40)}`);
  const note = { bytes, path: "memory/Gute Nachbarn.md", chunking: { tokens: 60, overlap: 15 } };
  const cut = await noteTasks.cut(note, async () => undefined);
  const rows = cut.map((chunk, id) => ({ ...chunk, id, path: note.path, source: "memory", terms: "" }));
  expect((await withTerms(rows, never)).map(({ terms }) => terms)).toEqual(cut.map(({ terms }) => terms));
});

describe("a store that finds by words alone", () => {
  test("answers whatever provider the configuration names, and asks it for nothing", async () => {
    const embeddings = fakeEmbeddings();
    const workspace = tempFolder({ "MEMORY.md": "The budget is 40,000 euro." });
    const context = contextFor(workspace, { provider: embeddings });
    const manager = await manageIndex({ index: createFakeStore(), context, backend: "words", keepsVectors: false });
    expect(manager.capabilities).toEqual({ keyword: true, vector: false, ownsIndex: true });
    expect(await manager.sync?.(syncParams())).toMatchObject({ added: 1, failed: [] });
    const options = searchOptions();
    expect(await manager.search("budget", options)).toMatchObject([{ path: "MEMORY.md" }]);
    expect(options.reports).toMatchObject([{ mode: "keyword", state: "ok" }]);
    expect(manager.status()).toMatchObject({ provider: "none", embedding: { reason: "words finds by words alone" } });
    expect(await manager.probeEmbeddingAvailability(never)).toMatchObject({ ok: false });
    expect(await manager.probeVectorAvailability(never)).toBe(false);
    expect([embeddings.sent, embeddings.queries]).toEqual([[], []]);
    await manager.close?.();
  });
});

describe("a search ahead", () => {
  test.each([
    ["counts while nothing has been written since", () => undefined, () => undefined, "found"],
    ["is made again after a write since", () => undefined, (write: () => void) => write(), undefined],
    ["is made again after a write while it ran", (write: () => void) => write(), () => undefined, undefined],
  ])("%s", async (_, during, since, expected) => {
    let revision = 7;
    const write = (): void => void revision++;
    const taken = searchAhead({ revision: async () => String(revision) }, async () => {
      during(write);
      return "found";
    });
    await new Promise(setImmediate);
    since(write);
    expect(await taken()).toBe(expected);
  });

  test("that fails is left to the search that counts", async () => {
    const search = async (): Promise<string> => {
      throw new Error("not yet");
    };
    expect(await searchAhead({ revision: async () => "7" }, search)()).toBeUndefined();
  });
});
