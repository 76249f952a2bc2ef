import { describe, expect, test } from "vitest";
import { buildQuery, meaningQuery } from "../ask/build-query.ts";
import { classifyEnd, classifyWords } from "./classify-failure.ts";
import { parseOutput, parseToolRows } from "./parse-output.ts";
import { QmdFailure } from "../qmd-contract.ts";
import cases from "../../test/data/cases.json" with { type: "json" };

const lists = (question: string): string[][] => buildQuery(question).map((call) => call.map(({ query }) => query));

describe("a question becomes lists of words", () => {
  test("all together, then each, without words that say nothing", () => {
    expect(lists("Where is the staging server?")).toEqual([["staging server", "staging", "server"]]);
  });

  test("one word is one list", () => {
    expect(lists("boiler")).toEqual([["boiler"]]);
  });

  test("identifiers keep what holds them together inside", () => {
    expect(lists("QX-7919 node.js")).toEqual([["QX-7919 node.js", "QX-7919", "node.js"]]);
    expect(lists("src/agents/router.ts")[0]).toContain("router.ts");
  });

  test("words that say nothing are kept where there are no others", () => {
    expect(lists("who is it")).toEqual([["who is it", "who", "is", "it"]]);
  });

  test("there are never more than ten lists in a call, and long words and identifiers go first", () => {
    const words = Array.from({ length: 30 }, (_, index) => `word${"x".repeat(index)}`);
    const [call = [], ...others] = lists([...words, "A1"].join(" "));
    expect(others).toEqual([]);
    expect(call).toHaveLength(10);
    expect(call).toContain("A1");
    expect(call).toContain(words.at(-1));
    expect(call).not.toContain(words[0]);
  });

  test("a run of characters without spaces is asked for by its pairs too", () => {
    expect(lists("钢琴课")).toEqual([["钢琴课", "钢琴", "琴课"]]);
    expect(lists("膝盖")).toEqual([["膝盖"]]);
    const calls = lists("周三下午三点去仁济医院复查膝盖主治医师是林晓女儿的钢琴课改到周六上午");
    expect(calls).toHaveLength(2);
    for (const call of calls) expect(call.length).toBeLessThanOrEqual(10);
  });

  test("whatever is asked, no list has a quote, a minus at the front of a word, a line end or a control character", () => {
    const hostile = ['"x" -foo', "a\nb\0c", "--not", "“q”", "-", '"', "lex: a\nvec: b", "\u200b", "a".repeat(5000)];
    for (const question of hostile) {
      for (const { query, type } of buildQuery(question).flat()) {
        expect(type).toBe("lex");
        expect(query).not.toMatch(/["\p{Cc}]|(?:^|\s)-/u);
        expect(query.length).toBeLessThanOrEqual(1000);
        expect(query).not.toBe("");
      }
    }
  });

  test("symbols alone become nothing", () => {
    for (const question of ["", " ", "!!!", "🙂", "?", "___"]) expect(buildQuery(question)).toEqual([]);
  });

  test("a question by meaning stays a sentence without line ends and negations", () => {
    expect(meaningQuery('what is -not "here"\nand there')).toEqual(cases.byMeaning);
    expect(meaningQuery('--"')).toEqual({ type: "vec", query: '"' });
    expect(meaningQuery("\n")).toBeUndefined();
  });
});

describe("the failure of qmd", () => {
  const sqlite = (code: string): string =>
    `SqliteError: something\n    at Database.exec (node:1:1) {\n  code: '${code}'\n}\n`;

  describe("by its end", () => {
    test.each(cases.ends as [number | null, NodeJS.Signals | null, string, string][])(
      "code %s, signal %s, words %j: %#",
      (code, signal, stderr, reason) => {
        expect(classifyEnd("qmd query", { code, signal }, stderr).reason).toBe(reason);
      },
    );
  });

  test("a question that has the words of a failure in it is none", () => {
    const stderr =
      "Structured search: 2 queries (lex+lex)\n├─ lex: SQLITE_CORRUPT\n└─ lex: Collection not found: x\nBoom\n";
    const failure = classifyEnd("qmd query", { code: 1, signal: null }, stderr);
    expect(failure).toMatchObject({ reason: "qmd_error", message: "qmd query ended with code 1: Boom" });
  });

  test("the message has the line that tells what went wrong, and no addresses of code", () => {
    const stderr = cases.longMessage.join("\n");
    expect(classifyEnd("qmd query", { code: 1, signal: null }, stderr).message).toBe(
      "qmd query ended with code 1: Error: Line 1 is missing a lex:/vec:/hyde: prefix.",
    );
  });

  test("what can be done about it is said", () => {
    expect(classifyEnd("qmd query", { code: 139, signal: null }, "").action).toContain("22");
    expect(classifyWords("the tool query of qmd", sqlite("SQLITE_FULL"))).toMatchObject({
      reason: "no_space",
      action: expect.stringContaining("make room"),
    });
  });
});

describe("the output of qmd", () => {
  const row = { docid: "#d7b5c5", score: 1, file: "qmd://notes/a.md", line: 3, title: "Alpha", snippet: "@@ -2,3 @@" };
  const list = JSON.stringify([row, { ...row, score: 0, file: "qmd://notes/sub/b.md", line: 0 }], null, 2);
  const rows = cases.rows;

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
    expect(reasonOf("[{".repeat(40_000))).toBe("invalid_output");
    expect(reasonOf(`["${"x".repeat(200_000)}`)).toBe("invalid_output");
  });

  test.each(cases.files as [string, string, string][])("the file %s is %s and %s", (file, collection, path) => {
    expect(parseOutput(JSON.stringify([{ file }])).rows).toEqual([{ collection, path, score: 0 }]);
    expect(parseToolRows({ structuredContent: { results: [{ file }] } })).toEqual([{ collection, path, score: 0 }]);
  });

  test("an answer of a tool without its list is none", () => {
    for (const answer of [undefined, {}, { structuredContent: {} }, { structuredContent: { results: [{}] } }])
      expect(() => parseToolRows(answer)).toThrow("without a list of results");
  });
});
