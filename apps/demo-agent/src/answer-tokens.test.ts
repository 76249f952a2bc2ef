import { readFile } from "node:fs/promises";
import { createMemoryTools } from "@memslot/agent-kit";
import { estimateTokens } from "@memslot/core";
import { encode } from "gpt-tokenizer/encoding/o200k_base";
import { expect, test } from "vitest";
import { openNotes } from "./open-notes.ts";
import { createSampleWorkspace } from "./sample-workspace.ts";

interface Known {
  question: string;
  answer: string;
}

interface Shown {
  results: { path: string; snippet: string }[];
}

test("the 40 sample questions cost at most 1,300 tokens on average, and the answers of 27 stand in what they get", async () => {
  const sample = await createSampleWorkspace();
  const { memory } = await openNotes({
    sample,
    workspaceDir: undefined,
    backend: undefined,
    env: {},
    cwd: sample.rootDir,
    notify: () => undefined,
    signal: new AbortController().signal,
  });
  await memory?.sync();
  const known: Known[] = JSON.parse(
    await readFile(new URL("../sample-workspace.questions.json", import.meta.url), "utf8"),
  );
  const [search] = createMemoryTools({ memory, citations: "auto" });
  const tokens: number[] = [];
  let text = 0;
  let estimated = 0;
  let shown = 0;
  for (const { question, answer } of known) {
    const output = (await search?.execute({ query: question })) as Shown;
    tokens.push(encode(JSON.stringify(output)).length);
    text += output.results.reduce((sum, { snippet }) => sum + encode(snippet).length, 0);
    estimated += output.results.reduce((sum, { snippet }) => sum + estimateTokens(snippet), 0);
    if (answer && output.results.some(({ snippet }) => snippet.includes(answer))) shown++;
  }
  const average = tokens.reduce((sum, count) => sum + count, 0) / tokens.length;
  await memory?.close();
  await sample.remove();
  expect(known).toHaveLength(40);
  expect(average).toBeLessThanOrEqual(1300);
  expect(shown).toBeGreaterThanOrEqual(27);
  // What is counted as note text is what it is for a real tokenizer, within a quarter; the frames are counted here too.
  expect(estimated / text).toBeGreaterThan(0.75);
  expect(estimated / text).toBeLessThan(1.25);
});
