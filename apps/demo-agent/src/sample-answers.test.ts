import { readFileSync, readdirSync } from "node:fs";
import path from "node:path";
import { createMemoryTools } from "@memslot/agent-kit";
import { estimateTokens } from "@memslot/core";
import { answerTokens } from "@memslot/core/host";
import { encode } from "gpt-tokenizer/encoding/o200k_base";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { respond } from "./answers/responder.ts";
import { type OpenedNotes, openNotes } from "./open-notes.ts";
import { createSampleWorkspace, type SampleWorkspace, sampleQuestions } from "./sample-workspace.ts";
import data from "./test/sample-answers.json" with { type: "json" };

interface SampleQuestion {
  question: string;
  kind: "keyword" | "paraphrase" | "absent";
  path?: string;
  line?: number;
  answer?: string;
}

const signal = new AbortController().signal;
const questions = JSON.parse(
  readFileSync(new URL("../sample-workspace.questions.json", import.meta.url), "utf8"),
) as SampleQuestion[];

describe("over the sample notes", () => {
  let sample: SampleWorkspace;
  let notes: OpenedNotes;
  beforeAll(async () => {
    sample = await createSampleWorkspace();
    const nothing = { workspaceDir: undefined, backend: undefined, env: {}, notify: () => undefined };
    notes = await openNotes({ sample, cwd: sample.rootDir, signal, ...nothing });
    await notes.memory?.sync();
  });
  afterAll(async () => {
    await notes.memory?.close();
    await sample.remove();
  });

  test("the responder answers nine of ten keyword questions from the right line, and claims nothing else", async () => {
    const wrong: string[] = [];
    const claimed: string[] = [];
    for (const { question, kind, path: file, line, answer } of questions) {
      const text = await respond(question, { memory: notes.memory, signal });
      const [, citedPath, from, to] = /^ {2}(.+)#L(\d+)-L(\d+)$/m.exec(text) ?? [];
      const right = citedPath === file && Number(from) <= Number(line) && Number(to) >= Number(line);
      if (kind === "keyword" && !(right && text.includes(answer ?? ""))) wrong.push(question);
      if (kind === "absent" && /^(From the notes|笔记里写着)/.test(text)) claimed.push(question);
    }
    const keyword = questions.filter(({ kind }) => kind === "keyword").length;
    expect(keyword).toBeGreaterThanOrEqual(20);
    // The message of a failure has the list.
    expect(wrong.slice(Math.floor(keyword / 10))).toEqual([]);
    expect(claimed).toEqual([]);
    for (const question of sampleQuestions)
      expect(questions).toContainEqual(expect.objectContaining({ question, kind: "keyword" }));
  });

  test("the 40 questions cost at most 1,300 tokens on average, and 27 answers are in the results", async () => {
    const [search] = createMemoryTools({ memory: notes.memory, citations: "auto" });
    let [tokens, text, estimated, shown] = [0, 0, 0, 0];
    for (const { question, answer } of questions) {
      const output = (await search?.execute({ query: question })) as { results: { snippet: string }[] };
      const snippets = output.results.map(({ snippet }) => snippet);
      tokens += encode(JSON.stringify(output)).length;
      text += snippets.reduce((sum, snippet) => sum + encode(snippet).length, 0);
      estimated += snippets.reduce((sum, snippet) => sum + estimateTokens(snippet), 0);
      if (answer && snippets.some((snippet) => snippet.includes(answer))) shown++;
    }
    expect(questions).toHaveLength(40);
    expect(tokens / questions.length).toBeLessThanOrEqual(1300);
    expect(shown).toBeGreaterThanOrEqual(27);
    expect(estimated / text).toBeGreaterThan(0.75);
    expect(estimated / text).toBeLessThan(1.25);
  });
});

describe("the estimate of tokens", () => {
  const root = path.join(import.meta.dirname, "../../..");
  const vault = path.join(root, "bench/vault/notes");

  /** The passages of a file, of twelve lines each. */
  function passagesOf(file: string): string[] {
    const lines = readFileSync(file, "utf8").split("\n");
    const starts = Array.from({ length: Math.ceil(lines.length / 12) }, (_, index) => index * 12);
    return starts.map((start) => lines.slice(start, start + 12).join("\n")).filter((text) => text.trim().length > 30);
  }

  function kindOf(text: string): string {
    if (/\p{Script=Han}/u.test(text)) return "Chinese";
    if (/\b(?:der|die|und|ist|nicht)\b/u.test(text)) return "German";
    return /^\|/mu.test(text) ? "a table" : "English";
  }

  test.each(["English", "German", "Chinese", "a table", "code"])("is within 7 %% of a real tokenizer: %s", (kind) => {
    const notes = readdirSync(vault, { recursive: true, encoding: "utf8" }).filter((name) => name.endsWith(".md"));
    const sources = ["core/src/open/open-memory.ts", "indexing/src/search/rank.ts", "core/src/config/paths.ts"];
    const passages =
      kind === "code"
        ? sources.flatMap((name) => passagesOf(path.join(root, "packages", name)))
        : notes.flatMap((name) => passagesOf(path.join(vault, name))).filter((text) => kindOf(text) === kind);
    let [real, estimated, apart] = [0, 0, 0];
    for (const text of passages) {
      const [is, guess] = [encode(text).length, answerTokens(text)];
      real += is;
      estimated += guess;
      apart += Math.abs(is - guess);
    }
    expect(real).toBeGreaterThan(2000);
    expect(Math.abs(estimated / real - 1)).toBeLessThan(0.07);
    // One by one they may be further off, up or down.
    expect(apart / real).toBeLessThan(0.11);
  });

  test.each(data.elsewhere)("is not far off elsewhere: %s", (text) => {
    const ratio = answerTokens(text) / encode(text).length;
    expect(ratio).toBeGreaterThan(0.75);
    expect(ratio).toBeLessThan(1.45);
  });
});

test("the tools cost a model at most 865 tokens, and are described without the names of a layout", () => {
  const unavailable = { error: new Error("not opened") };
  const tools = createMemoryTools({ memory: undefined, unavailable, citations: "auto" });
  const sent = tools.map(({ name, description, inputSchema }) => ({ name, description, inputSchema }));
  expect(sent).toHaveLength(3);
  expect(encode(JSON.stringify(sent)).length).toBeLessThanOrEqual(865);
  // The other tools serve any folder of notes.
  for (const { name, description } of sent.filter((tool) => tool.name !== "memory_append"))
    expect(description, name).not.toMatch(/MEMORY\.md|USER\.md|memory\//u);
});
