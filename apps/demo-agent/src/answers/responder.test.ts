import type { Memory, MemorySearchResult, SearchReport } from "@memslot/core";
import { expect, test } from "vitest";
import { respond } from "./responder.ts";

const boats = [
  "# Boats",
  "",
  "## Harbour",
  "",
  "- Berth 14 costs 312 euro a year.",
  "- The gate code of the harbour is HX-19.",
  "- 码头的门禁密码是 7731，每年三月更换。",
  "",
  "## Engine",
  "",
  "The engine is a small diesel. It was built in 1998. It starts badly below five degrees, then the glow plug has to be held for twenty seconds. Oil is changed each October by the yard. The spare impeller lies in the red box under the left bench, next to the flares and the old lifejackets. Spare belts lie there as well, and the tool for the filter.",
].join("\n");

interface FakeNotes {
  files: Record<string, string>;
  results: Pick<MemorySearchResult, "path" | "startLine" | "endLine">[];
  report?: Partial<SearchReport>;
  vectorScore?: number;
  source?: string;
  /** Lines that one read gives at most. */
  window?: number;
}

/** A memory over texts with given results. */
function fakeNotes({ files, results, report, vectorScore, source = "memory", window }: FakeNotes): Memory {
  const dropped = { minScore: 0, source: 0, limit: 0 };
  const memory: Partial<Memory> = {
    search: async (_query, options = {}) => {
      options.onDebug?.({ backend: "fake", mode: "keyword", state: "ok", legs: {}, dropped, ...report });
      return results.map((result) => ({ ...result, score: 0.5, vectorScore, snippet: "", source }));
    },
    readFile: async ({ relPath, from = 1, lines = 120 }) => {
      const all = (files[relPath] ?? "").split("\n");
      const part = all.slice(from - 1, from - 1 + Math.min(lines, window ?? lines));
      const next = from + part.length;
      const notice = next <= all.length ? `\n[More content available. Use from=${next} to continue.]` : "";
      const text = part.join("\n") + notice;
      return { status: "ok", path: relPath, text, from, lines: part.length, ...(notice && { nextFrom: next }) };
    },
    status: () => ({ backend: "fake", provider: "none" }),
  };
  return memory as Memory;
}

const everything = (files: Record<string, string>): FakeNotes => ({
  files,
  results: Object.entries(files).map(([path, text]) => ({ path, startLine: 1, endLine: text.split("\n").length })),
});

const ask = (question: string, notes: FakeNotes): Promise<string> =>
  respond(question, { memory: fakeNotes(notes), signal: new AbortController().signal });

const inBoats = everything({ "memory/boats.md": boats });
const log = "# Monday\n\n- Called the yard about the mast\n  - crane is booked for 4 May, slot 9";
const fees = `${[2023, 2024, 2025, 2026].map((year) => `- berth fee ${year}: 290\n`).join("")}- the fee of the club is small`;
const digest = [
  "- 07:25 Digest of dropped messages (no model was available):",
  "  - 07:25 user: What is the gate code of the harbour?",
  "  - 07:25 assistant: From the notes: the gate code of the harbour is HX-18.",
  "  - 07:26 user: The gate code of the harbour is HX-20 now.",
].join("\n");
const journal = [
  "",
  "User: What is the gate code of the harbour?",
  "Assistant: The gate code of the harbour is AB-1, I believe.",
  "User: The gate code of the harbour is HX-19 now.",
].join("\n");
const long = `${Array.from({ length: 50 }, (_, index) => `- line ${index + 1}\n`).join("")}- the gate code is HX-19`;
const unsearched = { files: 5, more: false, folders: ["Projects"] };
const code = "What is the gate code of the harbour?";

test.each<[string, string, FakeNotes, RegExp, number?]>([
  [
    "quotes the line with the words of the question, its heading and citation",
    code,
    inBoats,
    /^From the notes:\n\nHarbour\n> The gate code of the harbour is HX-19\.\n {2}memory\/boats\.md#L6-L6$/,
  ],
  [
    "answers a Chinese question in Chinese",
    "码头的门禁密码是多少？",
    inBoats,
    /笔记里写着：[^]*> 码头的门禁密码是 7731，每年三月更换。\n {2}memory\/boats\.md#L7-L7/,
  ],
  [
    "quotes whole sentences of a long paragraph",
    "Where is the spare impeller of the engine?",
    inBoats,
    /> … (?![^]*small diesel)[^]*The spare impeller lies [^.]+ lifejackets\.[^]*memory\/boats\.md#L11-L11/,
  ],
  [
    "names the day of a daily log and the item above a nested one",
    "When is the crane booked for the mast?",
    everything({ "memory/2026-04-20.md": log }),
    /2026-04-20 › Monday › Called the yard about the mast\n> crane is booked for 4 May, slot 9\n.*#L4-L4/,
  ],
  ["quotes at most three lines of the best", "berth fee", everything({ "memory/fees.md": fees }), /^(?!.*club)/s, 3],
  ["says that nothing was found", "What is my passport number?", inBoats, /^Memory holds nothing on this\./, 0],
  ["says so in Chinese", "护照在哪里办的？", inBoats, /^记忆里没有这方面的内容。/, 0],
  [
    "says how many notes are not searched",
    "zebra",
    { files: {}, results: [], report: { unsearched } },
    /not searched: 5\.[^]*memorySearch\.notes to "all", or name their folders in memorySearch\.extraPaths/,
  ],
  [
    "does not say so if something was found",
    "berth fee",
    { ...everything({ "memory/fees.md": "- berth fee: 290" }), report: { unsearched } },
    /^From the notes:(?!.*not searched)/s,
  ],
  [
    "flags a line with a part of the question as a weak match",
    "What does the harbour restaurant cost?",
    inBoats,
    /^Memory holds no clear answer to this\. The nearest line, a weak match:/,
    1,
  ],
  [
    "offers a line without a word of the question as a weak match of vector search",
    "zebra",
    {
      ...inBoats,
      vectorScore: 0.6,
      report: { mode: "hybrid" },
      results: [{ path: "memory/boats.md", startLine: 5, endLine: 6 }],
    },
    /weak match[^]*memory\/boats\.md#L5-L5/,
  ],
  [
    "says if memory could not be searched whole",
    code,
    { ...inBoats, report: { state: "stale", reason: "3 files changed" } },
    /memory is stale, so this may not be all: 3 files changed\.$/,
  ],
  [
    "reads on if a read gives only a window",
    "gate code",
    { files: { "memory/x.md": long }, results: [{ path: "memory/x.md", startLine: 45, endLine: 51 }], window: 6 },
    /> the gate code is HX-19\n {2}memory\/x\.md#L51-L51/,
  ],
  [
    "takes facts from a digest, no questions and answers",
    code,
    everything({ "memory/2026-04-20.md": digest }),
    /#L4-L4/,
    1,
  ],
  [
    "quotes what the user said in a conversation, no questions and answers",
    code,
    { ...everything({ "journal/5f3c.0123456789abcdef.jsonl": journal }), source: "journal" },
    /^(?!.*(?:AB-1|What is)).*HX-19 now\.\n {2}journal\/5f3c\.0123456789abcdef\.jsonl#L4-L4/s,
  ],
])("the responder %s", async (_, question, notes, expected, citations) => {
  const answer = await ask(question, notes);
  expect(answer).toMatch(expected);
  if (citations !== undefined) expect(answer.match(/#L\d+-L\d+/g) ?? []).toHaveLength(citations);
});
