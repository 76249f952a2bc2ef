import { type Memory, MemoryError, type MemorySearchResult } from "@memslot/core";
import { describe, expect, test } from "vitest";
import {
  createMatcher,
  fileLines,
  findInFile,
  marked as markedBy,
  numberByPlace,
  type ResultLines,
  resultLines,
} from "./result-lines.ts";
import tables from "./test/result-lines.json" with { type: "json" };

type SnippetPlace = Parameters<typeof findInFile>[0];

const never = new AbortController().signal;
const note = tables.note;

/** Gives out at most two lines at a time, with the notice that a memory puts behind them. */
function memoryOf(lines: readonly string[]): Pick<Memory, "readFile"> & { reads: number[] } {
  const reads: number[] = [];
  return {
    reads,
    async readFile({ from = 1, lines: wanted = 120, ...note }) {
      reads.push(from);
      const given = lines.slice(from - 1, from - 1 + Math.min(wanted, 2));
      const next = from + given.length;
      const more = next <= lines.length ? { nextFrom: next } : {};
      const notice = next <= lines.length ? `\n[More content available. Use from=${next} to continue.]` : "";
      return {
        status: "ok",
        path: note.path ?? note.relPath,
        text: given.join("\n") + notice,
        from,
        lines: given.length,
        ...more,
      };
    },
  };
}

const found = (startLine: number, endLine: number, snippet: string): MemorySearchResult => ({
  path: "a.md",
  startLine,
  endLine,
  score: 0.5,
  snippet,
  source: "memory",
});

async function shown(result: MemorySearchResult, context?: number, query = "ferry"): Promise<string[]> {
  const [first] = await resultLines(memoryOf(note), [result], { query, context, signal: never });
  return numbered(first?.lines ?? []) ?? [];
}

describe("the lines of a file", () => {
  test("are not known where the memory does not give them out; an abort is no such answer", async () => {
    const place = { path: "sessions/a.jsonl", from: 1, to: 2, signal: never };
    const refused = { readFile: () => Promise.reject(new MemoryError("PATH_NOT_ALLOWED", "no Markdown")) };
    expect(await fileLines(refused, place)).toBeUndefined();
    const gone = { readFile: async () => ({ status: "not_found", text: "", path: "a.md" }) as const };
    expect(await fileLines(gone, place)).toBeUndefined();
    const aborted = { readFile: () => Promise.reject(new DOMException("aborted", "AbortError")) };
    await expect(fileLines(aborted, place)).rejects.toThrow("aborted");
  });
});

describe("the lines of a result", () => {
  test("are those of its snippet, and no file is read where it says which they are", async () => {
    const memory = memoryOf(note);
    await resultLines(memory, [found(4, 5, "The ferry leaves.\nfour")], {
      query: "x",
      context: undefined,
      signal: never,
    });
    expect(memory.reads).toEqual([]);
    expect(await shown(found(2, 6, "…\nThe ferry leaves.\n…\nfive\n\n"))).toEqual(tables.ofSnippet);
  });

  test("stand under the heading that the result names", async () => {
    expect(await shown({ ...found(4, 4, "The ferry leaves."), heading: "# Boats" })).toEqual([
      "? # Boats",
      "4 The ferry leaves.",
    ]);
  });

  test("with a context are those that match within the result, and what stands around them also outside of it", async () => {
    expect(await shown(found(3, 5, "two\nThe ferry leaves.\nfour"), 0)).toEqual(["4 The ferry leaves."]);
    expect(await shown(found(4, 4, "The ferry leaves."), 2)).toEqual(tables.around);
    expect(await shown(found(3, 7, note.slice(2, 7).join("\n")), 2)).toEqual(tables.around);
    expect(await shown(found(1, 9, "…"), 1)).toEqual(tables.everywhere);
  });

  test("with a context are those of the snippet where no word matches: it was found by meaning", async () => {
    expect(await shown(found(3, 7, "…\nfour\n…"), 1, "boat")).toEqual(["4 The ferry leaves.", "5 four", "6 five"]);
  });

  test.each(["sessions", "journal"])(
    "of %s have no numbers, however many they are, and no file is read",
    async (source) => {
      const memory = memoryOf(note);
      const result = { ...found(3, 4, "user: the ferry\n…\n"), source };
      for (const context of [undefined, 2]) {
        const [first] = await resultLines(memory, [result], { query: "ferry", context, signal: never });
        expect(first?.lines).toEqual([{ kind: "line", number: undefined, text: "user: the ferry" }, { kind: "gap" }]);
      }
      expect(memory.reads).toEqual([]);
    },
  );

  test("with a context are those of the snippet where there is no file", async () => {
    const refused = { readFile: () => Promise.reject(new MemoryError("PATH_NOT_ALLOWED", "no Markdown")) };
    const result = found(3, 9, "user: the ferry\nassistant: at nine");
    const [first] = await resultLines(refused, [result], { query: "ferry", context: 3, signal: never });
    expect(first?.lines).toEqual([
      { kind: "line", number: undefined, text: "user: the ferry" },
      { kind: "line", number: undefined, text: "assistant: at nine" },
    ]);
  });
});

/** `3 text` for a line, `? text` where its number is not known, `…` for a gap. */
function numbered(lines: ResultLines["lines"] | undefined): string[] | undefined {
  return lines?.map((line) => (line.kind === "gap" ? "…" : `${line.number ?? "?"} ${line.text}`));
}

const place = (snippet: string, startLine: number, endLine: number): SnippetPlace => ({ snippet, startLine, endLine });

test.each(tables.byPlace as [string, SnippetPlace, string[]?][])(
  "the numbers of a snippet, without its file, %s",
  (_, snippet, expected) => {
    expect(numbered(numberByPlace(snippet))).toEqual(expected);
  },
);

describe("the numbers of a snippet, by its file", () => {
  const { file } = tables;

  test.each(tables.inFile as [string, string, string[]][])("%s", (_, snippet, expected) => {
    expect(numbered(findInFile(place(snippet, 10, 18), file))).toEqual(expected);
  });

  test.each(tables.unknown as [string, SnippetPlace, string[], string[]][])(
    "are unknown where %s",
    (_, snippet, lines, expected) => {
      expect(numbered(findInFile(snippet, lines))).toEqual(expected);
    },
  );

  test("are found for a line that has lost a secret", () => {
    const kept = "login: anna, password: [redacted], host: alder";
    const lines = ["first", "login: anna, password: hunter2, host: alder"];
    expect(numbered(findInFile(place(`…\n${kept}`, 1, 2), lines))).toEqual(["…", `2 ${kept}`]);
  });

  test("of any choice of lines are theirs", () => {
    const lines = Array.from({ length: 9 }, (_, index) => (index % 4 === 3 ? "" : `line ${index}`));
    let checked = 0;
    for (let choice = 1; choice < 2 ** 9; choice++) {
      const chosen = lines.flatMap((text, index) => ((choice >> index) & 1 && text !== "" ? [index] : []));
      if (chosen.length === 0) continue;
      const parts = chosen.flatMap((index, at) => {
        const left = lines.slice((chosen[at - 1] ?? -1) + 1, index).some((text) => text !== "");
        return left ? ["…", lines[index] ?? ""] : [lines[index] ?? ""];
      });
      const numbers = findInFile(place(parts.join("\n"), 1, 9), lines);
      expect(numbers.flatMap((line) => (line.kind === "line" ? [line.number] : []))).toEqual(
        chosen.map((index) => index + 1),
      );
      checked++;
    }
    expect(checked).toBe(508);
  });
});

describe("words that matched", () => {
  const marked = (text: string, query: string): string =>
    markedBy(text, createMatcher(query)(text), (words) => `[${words}]`);

  test.each(tables.marked as [string, string, string][])("are marked %s", (_, query, expected) => {
    expect(marked(expected.replaceAll(/[[\]]/gu, ""), query)).toBe(expected);
  });

  test("are counted once for each word of the query", () => {
    const words = (text: string): number => createMatcher("mail server")(text).words;
    expect(["The mail server", "mail, mails, mailing", "servers of mail", "nothing"].map(words)).toEqual([2, 1, 2, 0]);
  });
});
