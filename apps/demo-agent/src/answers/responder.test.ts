import type { Memory, MemorySearchResult, SearchReport } from "@memslot/core";
import { expect, test } from "vitest";
import { respond } from "./responder.ts";
import data from "./test/answers.json" with { type: "json" };

interface FakeNotes {
  /** The notes about boats if none are given. */
  files?: Record<string, string>;
  /** All lines of all files if none are given. */
  results?: Pick<MemorySearchResult, "path" | "startLine" | "endLine">[];
  report?: Partial<SearchReport>;
  vectorScore?: number;
  source?: string;
  /** Lines that one read gives at most. */
  window?: number;
}

/** A memory over texts with given results. */
function fakeNotes({ report, vectorScore, source = "memory", window, ...given }: FakeNotes): Memory {
  const files = given.files ?? { "memory/boats.md": data.boats };
  const all = Object.entries(files).map(([path, text]) => ({ path, startLine: 1, endLine: text.split("\n").length }));
  const results = given.results ?? all;
  const dropped = { minScore: 0, source: 0, limit: 0 };
  const memory: Partial<Memory> = {
    ask: async () => ({
      results: results.map((result) => ({ ...result, score: 0.5, vectorScore, snippet: "", source })),
      report: { backend: "fake", mode: "keyword", state: "ok", legs: {}, dropped, ...report },
    }),
    readFile: async ({ from = 1, lines = 120, ...note }) => {
      const path = note.path ?? note.relPath;
      const all = (files[path] ?? "").split("\n");
      const part = all.slice(from - 1, from - 1 + Math.min(lines, window ?? lines));
      const next = from + part.length;
      const notice = next <= all.length ? `\n[More content available. Use from=${next} to continue.]` : "";
      const text = part.join("\n") + notice;
      return { status: "ok", path, text, from, lines: part.length, ...(notice && { nextFrom: next }) };
    },
    status: () => ({ backend: "fake", provider: "none" }),
  };
  return memory as Memory;
}

/** The pattern that is written as /words/flags. */
const patternOf = (written: string): RegExp => {
  const end = written.lastIndexOf("/");
  return new RegExp(written.slice(1, end), written.slice(end + 1));
};

test.each(data.answers as [string, string, FakeNotes, string, number?][])(
  "the responder %s",
  async (_, question, notes, expected, citations) => {
    const answer = await respond(question, { memory: fakeNotes(notes), signal: new AbortController().signal });
    expect(answer).toMatch(patternOf(expected));
    if (citations !== undefined) expect(answer.match(/#L\d+-L\d+/g) ?? []).toHaveLength(citations);
  },
);
