import type { MemorySearchResult } from "memslot";
import { deterministicEmbeddings } from "@memslot/testkit";
import { expect, test } from "vitest";
import { ask } from "../support/embedding-bench.ts";
import { type House, indexFile, useHouse } from "../support/house.ts";
import { contentOf } from "../support/index-file.ts";
import { noteName, twoPartNotes } from "../support/notes.ts";

// The fallback, the address and `fallback: none` over the network: embedding-models.test.ts.

const fileCount = 24;

/** What each model gives for a question and a chunk, from the model itself. */
async function cosineOf(model: string, query: string, text: string): Promise<number> {
  const provider = deterministicEmbeddings({ model, dimensions: 32 });
  const [left, [right]] = [await provider.embedQuery(query), await provider.embedBatch([text])];
  return Array.from(left).reduce((sum, value, index) => sum + value * (right?.[index] ?? 0), 0);
}

/** Asks with one model; every score that comes is of that model. Gives how many texts were embedded. */
async function askWith(house: House, model: string, wanted: "hybrid" | "keyword"): Promise<number> {
  const embeddings = deterministicEmbeddings({ model, dimensions: 32 });
  const memory = await house.open({ embeddings, memorySearch: { sync: { watch: false } } });
  await memory.sync();
  const query = "which kitten knows word7";
  const { results, report } = await ask(memory, query);
  expect(report).toMatchObject({ state: "ok", mode: wanted });
  expect(results[0]).toMatchObject({ path: noteName(7) });
  for (const result of results)
    expect(result.vectorScore).toBeCloseTo(await cosineOf(model, query, textOf(house, result)), 4);
  expect(memory.status()).toMatchObject({ vector: { embedded: fileCount, index: { state: "complete" } } });
  await memory.close();
  return embeddings.calls().texts;
}

/** The text of a chunk as the model is given it. */
function textOf(house: House, { path, startLine }: MemorySearchResult): string {
  const chunk = contentOf(indexFile(house)).chunks.find(
    (other) => other.path === path && other.startLine === startLine,
  );
  if (!chunk) throw new Error(`${path}#L${startLine} is not in the index`);
  return chunk.context === "" ? chunk.text : `${chunk.context}\n${chunk.text}`;
}

test("two models with vectors of one length never meet, and going back to the first embeds nothing", async () => {
  const house = useHouse();
  house.write(twoPartNotes(fileCount));
  expect(await askWith(house, "model-a", "hybrid")).toBe(fileCount);
  expect(await askWith(house, "model-b", "hybrid")).toBe(fileCount);
  expect(await askWith(house, "model-a", "hybrid")).toBe(0);
  expect(await askWith(house, "model-b", "hybrid")).toBe(0);
});
