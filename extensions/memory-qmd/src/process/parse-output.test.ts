import { describe, expect, test } from "vitest";
import { parseOutput, parseToolRows } from "./parse-output.ts";
import { QmdFailure } from "../qmd-contract.ts";

const row = { docid: "#d7b5c5", score: 1, file: "qmd://notes/a.md", line: 3, title: "Alpha", snippet: "@@ -2,3 @@" };
const list = JSON.stringify([row, { ...row, score: 0, file: "qmd://notes/sub/b.md", line: 0 }], null, 2);
const rows = [
  { collection: "notes", path: "a.md", score: 1, line: 3 },
  { collection: "notes", path: "sub/b.md", score: 0 },
];

function reasonOf(text: string): string {
  try {
    return `read as ${JSON.stringify(parseOutput(text).rows)}`;
  } catch (error) {
    if (error instanceof QmdFailure) return error.reason;
    throw error;
  }
}

test("the list is read whole, with results that have no score and lines that are none", () => {
  expect(parseOutput(list)).toEqual({ rows });
  expect(parseOutput("[]\n")).toEqual({ rows: [] });
});

describe("the list is found among", () => {
  test.each([
    ["a line before it", `Loading model...\n${list}\n`],
    ["a line after it", `${list}\n(node:1) Warning: something\n`],
    ["a prefix in brackets", `[node-llama-cpp] Using 4 threads\n${list}`],
    ["a prefix on its own line", `[node-llama-cpp] ${list}`],
    ["brackets that are never closed", `[warn [x\n[{ broken\n${list}`],
    ["a list of something else before it", `[{"level":"warn"}]\n${list}`],
    ["a list of something else after it", `${list}\n[{"level":"warn"}]\n[1, 2]`],
    ["an empty list before it", `[]\n${list}`],
    ["colours", `\u001B[33m[warn]\u001B[0m careful\n\u001B[2m${list}\u001B[0m`],
    ["a byte order mark", `\uFEFF${list}`],
  ])("%s", (_name, text) => {
    expect(parseOutput(text).rows).toEqual(rows);
  });

  test("an answer before it: the last one counts", () => {
    const other = JSON.stringify([{ file: "qmd://notes/old.md" }]);
    const parsed = parseOutput(`${other}\nagain\n${list}`);
    expect(parsed.rows).toEqual(rows);
    expect(parsed.noise).toContain("again");
  });
});

test("brackets and quotes inside a text are no end of it", () => {
  const text = String.raw`a ] \" [{"file":"x"}] and [ "`;
  const parsed = parseOutput(`noise\n${JSON.stringify([{ ...row, snippet: text }])}\nnoise`);
  expect(parsed.rows).toEqual([rows[0]]);
});

test("an empty list among lines is an empty answer when it has a line to itself, and words can say it too", () => {
  expect(parseOutput("[node-llama-cpp] loaded []\n[]\n").rows).toEqual([]);
  expect(parseOutput("No results found.\n").rows).toEqual([]);
  expect(parseOutput("No results found above minimum score threshold.\n").rows).toEqual([]);
});

test.each([
  ["nothing", ""],
  ["blank lines", "\n \n"],
  ["something else", "Hello"],
  ["half an answer", list.slice(0, list.length / 2)],
  ["half an answer with an empty list in a text", `[{"file":"qmd://notes/a.md","snippet":"x [] y"`],
  ["an object", '{"file":"qmd://notes/a.md"}'],
  ["rows without a file", '[{"path":"a.md"}]'],
  ["rows that are no objects", "[1]"],
  ["null", "[null]"],
  ["a list in another one", "[[]]"],
  ["no results, and more", "No results found.\nSegmentation fault"],
])("%s is no answer", (_name, text) => {
  expect(reasonOf(text)).toBe("invalid_output");
});

test("a large output that is all brackets is given up soon", () => {
  expect(reasonOf("[{".repeat(200_000))).toBe("invalid_output");
  expect(reasonOf(`["${"x".repeat(1_000_000)}`)).toBe("invalid_output");
});

test.each([
  ["qmd://notes/a.md", "notes", "a.md"],
  ["notes/a.md", "notes", "a.md"],
  ["qmd://notes/a.md?index=other", "notes", "a.md"],
  ["notes/sub/b ü #&+%20.md", "notes", "sub/b ü #&+%20.md"],
  ["qmd://notes/what?.md", "notes", "what?.md"],
  ["a.md", "", "a.md"],
])("the file %s is %s and %s", (file, collection, path) => {
  expect(parseOutput(JSON.stringify([{ file }])).rows).toEqual([{ collection, path, score: 0 }]);
  expect(parseToolRows({ structuredContent: { results: [{ file }] } })).toEqual([{ collection, path, score: 0 }]);
});

test("an answer of a tool without its list is none", () => {
  for (const answer of [undefined, {}, { structuredContent: {} }, { structuredContent: { results: [{}] } }])
    expect(() => parseToolRows(answer)).toThrow("without a list of results");
});
