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

test("quotes the line that holds the words of the question, with its heading and citation", async () => {
  expect(await ask("What is the gate code of the harbour?", everything({ "memory/boats.md": boats }))).toBe(
    ["From the notes:", "", "Harbour", "> The gate code of the harbour is HX-19.", "  memory/boats.md#L6-L6"].join(
      "\n",
    ),
  );
});

test("answers a Chinese question in Chinese", async () => {
  const answer = await ask("码头的门禁密码是多少？", everything({ "memory/boats.md": boats }));
  expect(answer).toContain("笔记里写着：");
  expect(answer).toContain("> 码头的门禁密码是 7731，每年三月更换。");
  expect(answer).toContain("memory/boats.md#L7-L7");
});

test("quotes whole sentences of a long paragraph", async () => {
  const answer = await ask("Where is the spare impeller of the engine?", everything({ "memory/boats.md": boats }));
  expect(answer).toContain(
    "The spare impeller lies in the red box under the left bench, next to the flares and the old lifejackets.",
  );
  expect(answer).not.toContain("small diesel");
  expect(answer).toContain("> … ");
  expect(answer).toContain("memory/boats.md#L11-L11");
});

test("names the day of a daily log and the item above a nested one", async () => {
  const log = "# Monday\n\n- Called the yard about the mast\n  - crane is booked for 4 May, slot 9";
  const answer = await ask("When is the crane booked for the mast?", everything({ "memory/2026-04-20.md": log }));
  expect(answer).toContain("2026-04-20 › Monday › Called the yard about the mast\n> crane is booked for 4 May, slot 9");
  expect(answer).toContain("memory/2026-04-20.md#L4-L4");
});

test("quotes at most three lines, the best first, and only what is nearly as good", async () => {
  const list =
    "- berth fee 2023: 290\n- berth fee 2024: 300\n- berth fee 2025: 306\n- berth fee 2026: 312\n- the fee of the club is small";
  const answer = await ask("berth fee", everything({ "memory/fees.md": list }));
  expect(answer.match(/#L\d+-L\d+/g)).toHaveLength(3);
  expect(answer).not.toContain("club");
});

test("says that memory holds nothing on it when no word is found", async () => {
  const notes = everything({ "memory/boats.md": boats });
  expect(await ask("What is my passport number?", notes)).toMatch(/^Memory holds nothing on this\./);
  expect(await ask("护照在哪里办的？", notes)).toMatch(/^记忆里没有这方面的内容。/);
  expect(await ask("zebra", { files: {}, results: [] })).toMatch(/^Memory holds nothing on this\./);
});

test("says how many notes lie where nobody looks, where nothing was found and not where something was", async () => {
  const unsearched = { files: 5, more: false, folders: ["Projects"] };
  const nothing = await ask("zebra", { files: {}, results: [], report: { unsearched } });
  expect(nothing).toContain("not searched: 5.");
  expect(nothing).toContain('memorySearch.notes to "all", or name their folders in memorySearch.extraPaths');
  expect(await ask("斑马", { files: {}, results: [], report: { unsearched } })).toContain(
    "还有 5 个 Markdown 文件没有被搜索",
  );
  const found = await ask("berth fee", {
    ...everything({ "memory/fees.md": "- berth fee: 290" }),
    report: { unsearched },
  });
  expect(found).toMatch(/^From the notes:/);
  expect(found).not.toContain("not searched");
});

test("flags a line that holds only part of the question as a weak match", async () => {
  const answer = await ask("What does the harbour restaurant cost?", everything({ "memory/boats.md": boats }));
  expect(answer).toMatch(/^Memory holds no clear answer to this\. The nearest line, a weak match:/);
  expect(answer.match(/#L\d+-L\d+/g)).toHaveLength(1);
});

test("with search by meaning, what no word leads to is offered as a weak match", async () => {
  const notes = { ...everything({ "memory/boats.md": boats }), vectorScore: 0.6 };
  const answer = await ask("zebra", {
    ...notes,
    report: { mode: "hybrid" },
    results: [{ path: "memory/boats.md", startLine: 5, endLine: 6 }],
  });
  expect(answer).toMatch(/weak match/);
  expect(answer).toContain("memory/boats.md#L5-L5");
});

test("says when memory could not be searched whole", async () => {
  const notes = {
    ...everything({ "memory/boats.md": boats }),
    report: { state: "stale" as const, reason: "3 files changed" },
  };
  expect(await ask("gate code of the harbour", notes)).toMatch(
    /memory is stale, so this may not be all: 3 files changed\.$/,
  );
  expect(await ask("zebra", notes)).toMatch(/3 files changed/);
});

test("reads on where a read gives only a window, and takes no notice for a line", async () => {
  const long =
    Array.from({ length: 50 }, (_, index) => `- line ${index + 1}`).join("\n") +
    "\n- the gate code is HX-19\n- more content available to continue";
  const notes: FakeNotes = {
    files: { "memory/x.md": long },
    results: [{ path: "memory/x.md", startLine: 45, endLine: 51 }],
    window: 7,
  };
  const answer = await ask("gate code", notes);
  expect(answer).toContain("> the gate code is HX-19\n  memory/x.md#L51-L51");
  expect(
    await ask("more content available", { ...notes, results: [{ path: "memory/x.md", startLine: 1, endLine: 30 }] }),
  ).not.toContain("[More");
});

test("takes what was said from the digest of a flush, and not what was asked or answered", async () => {
  const digest = [
    "- 07:25 Digest of dropped messages (no model was available):",
    "  - 07:25 user: What is the gate code of the harbour?",
    "  - 07:25 assistant: From the notes: the gate code of the harbour is HX-18.",
    "  - 07:26 user: The gate code of the harbour is HX-20 now.",
  ].join("\n");
  const answer = await ask("What is the gate code of the harbour?", everything({ "memory/2026-04-20.md": digest }));
  expect(answer.match(/#L\d+-L\d+/g)).toEqual(["#L4-L4"]);
});

test("of a conversation it quotes what the user has said, not what was asked", async () => {
  const journal = [
    "",
    "User: What is the gate code of the harbour?",
    "Assistant: The gate code of the harbour is AB-1, I believe.",
    "User: The gate code of the harbour is HX-19 now.",
  ].join("\n");
  const name = "journal/5f3c.0123456789abcdef.jsonl";
  const answer = await ask("What is the gate code of the harbour?", {
    ...everything({ [name]: journal }),
    source: "journal",
  });
  expect(answer).toContain(`HX-19 now.\n  ${name}#L4-L4`);
  expect(answer).not.toMatch(/AB-1|What is/);
});
