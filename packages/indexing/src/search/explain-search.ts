import { stat } from "node:fs/promises";
import nodePath from "node:path";
import { codeOf, notesLayout } from "@memslot/core/files";
import { isNoise, leastTokens, passesScore } from "./passages/choose-passages.ts";
import {
  type ManagerSearchOptions,
  type MemoryPluginContext,
  type MemorySearchResult,
  messageOf,
  type SearchWhy,
  type SyncFailure,
  type WhyPlace,
  type WhyRung,
  type WhyStep,
  type WhyTarget,
  clientSources,
} from "@memslot/core";
import { answerTokens, isConversation, placeTokens } from "@memslot/core/host";
import type { NoteIndex } from "../note-index.ts";
import type { ChunkRow } from "../index-row-types.ts";
import { fileName, isAsked, onlyIn } from "../chunk-store.ts";
import type { Embedder } from "../embedding/embedder.ts";
import { type AskedQuery, askedQuery, filtersRows } from "./query/query-filters.ts";
import { withoutEach } from "./query/filtered-search.ts";
import { fittingPart } from "./query/chunk-filter.ts";
import { sessionOf } from "../sources/session-folders.ts";
import { isOfSession } from "./conversation-weight.ts";
import { type Candidate, candidateOf, scorePartsOf } from "./rank.ts";
import type { SearchInput, SearchTrace } from "./search-outcome.ts";
import { ignoredFolders, isMarkdown } from "../scan/folder-rules.ts";

const mostTokens = 4000;
const mostResults = 200;
const otherWords = "Use words that the note contains.";

interface WhyInput {
  store: NoteIndex;
  vectors: Embedder | undefined;
  asked: AskedQuery;
  options: ManagerSearchOptions;
  target: WhyTarget;
  /** Absent: nothing was ranked, all that fits the filters is listed. */
  trace: SearchTrace | undefined;
}

type Act = NonNullable<SearchWhy["act"]>;

const steps = "file indexed passage filters words meaning candidate score rank answer".split(" ") as WhyStep[];

class Ladder {
  readonly rungs: WhyRung[] = [];

  readonly ok = (step: WhyStep, says: string): void => void this.rungs.push({ step, state: "ok", says });
  readonly note = (step: WhyStep, says: string): void => void this.rungs.push({ step, state: "note", says });

  failed(step: WhyStep, says: string, act?: Act | string, more: Partial<SearchWhy> = {}): SearchWhy {
    this.rungs.push({ step, state: "failed", says });
    const told = typeof act === "string" ? { says: act } : act;
    return { found: false, rungs: this.#whole(), sentence: says, act: told, ...more };
  }

  found(says: string, more: Partial<SearchWhy>): SearchWhy {
    this.ok("answer", says);
    return { found: true, rungs: this.#whole(), sentence: says, ...more };
  }

  #whole(): WhyRung[] {
    const known = new Map(this.rungs.map((rung) => [rung.step, rung]));
    return steps.map((step) => known.get(step) ?? { step, state: "unknown", says: "not reached" });
  }
}

/** Runs the search and reports each step for the target. */
export async function whyInSearch(
  { query, target: given, options }: { query: string; target: WhyTarget; options: ManagerSearchOptions },
  parts: {
    context: MemoryPluginContext;
    store: NoteIndex;
    vectors: Embedder | undefined;
    index: { facts(): { sources: ScanReports } };
    search(
      query: string,
      options: ManagerSearchOptions,
      trace: SearchInput["trace"],
    ): Promise<readonly MemorySearchResult[]>;
  },
): Promise<SearchWhy> {
  const { store, vectors, context, index } = parts;
  let trace: SearchTrace | undefined;
  await parts.search(query, { ...options, explain: true }, (seen) => (trace = seen));
  return await whyOf(
    {
      store,
      vectors,
      asked: trace?.input.asked ?? askedQuery(query, options, new Date()),
      options,
      target: given.path === undefined ? given : { ...given, path: pathInIndex(given.path, context.workspaceDir) },
      trace,
    },
    context,
    index.facts().sources,
  );
}

async function whyOf(input: WhyInput, context: MemoryPluginContext, sources: ScanReports): Promise<SearchWhy> {
  const { target, trace, asked, options } = input;
  const ladder = new Ladder();
  const rows = await rowsOf(input);
  if (rows.length === 0) {
    if (target.path === undefined)
      return ladder.failed("indexed", "no indexed note holds this text", "Name the note instead, as notes/x.md:12.");
    const { step, says, act } = await whyNotIndexed(target.path, context, sources);
    if (step === "indexed") ladder.ok("file", `${target.path} is there`);
    return ladder.failed(step, says, act);
  }
  const [first] = rows;
  const path = first?.path ?? "";
  ladder.ok("file", `${path} is a file of ${first?.source ?? "memory"}`);
  const problem = problemWith(path, sources);
  if (problem === undefined) ladder.ok("indexed", `it is indexed, in ${counted(rows.length, "passage")}`);
  else ladder.note("indexed", `an earlier state of it is indexed: ${problem}`);

  const { line, text } = target;
  const holding = rows.filter((row) =>
    text === undefined ? line === undefined || (row.startLine <= line && line <= row.endLine) : holds(row, text),
  );
  if (holding.length === 0) {
    const says = `no passage of ${path} holds line ${line}: it is empty, or the file ends before it`;
    return ladder.failed("passage", says, "Name a line that holds text.");
  }
  const candidates = trace?.ranking.candidates ?? [];
  const rank = candidates.findIndex((candidate) => holding.some(({ id }) => id === candidate.row.id));
  const row = candidates[rank]?.row ?? holding.find((each) => fittingPart(each, asked) !== undefined) ?? holding[0];
  if (row === undefined) return ladder.failed("passage", `no passage of ${path} is indexed`);
  ladder.ok("passage", `${place(row)} contains it`);

  const filtered = whyFiltered(row, input);
  if (filtered !== undefined)
    return ladder.failed("filters", filtered, "Take the filter out of the query, or ask for this source.");
  ladder.ok("filters", "no filter, source or session excludes it");
  if (trace === undefined) return ladder.found("every note that fits the filters is listed, the newest first", {});

  sayWords(ladder, row, trace);
  await sayMeaning(ladder, row, input, trace);
  const candidate = candidates[rank];
  if (candidate === undefined) {
    const more = { candidates: candidates.length };
    if (isOfSession(row, trace.input.running)) {
      const says = "its session is running in this project, and its model still knows it";
      return ladder.failed("candidate", says, "Search after the session has ended.", more);
    }
    const other = candidates.find((each) => isConversation(row) && isOfSession(each.row, [sessionOf(path)]));
    if (other !== undefined)
      return ladder.failed("candidate", `its session is found as ${place(other.row)}`, "Read that instead.", more);
    const says = `it is not among the ${counted(candidates.length, "candidate")} that words and meaning gave`;
    return ladder.failed("candidate", says, otherWords, more);
  }
  ladder.ok("candidate", `it is one of ${counted(candidates.length, "candidate")}`);
  return placed(ladder, { candidate, rank, line: lineOf(row, target) }, { trace, options });
}

function placed(
  ladder: Ladder,
  { candidate, rank, line }: { candidate: Candidate; rank: number; line: number | undefined },
  { trace, options }: { trace: SearchTrace; options: ManagerSearchOptions },
): SearchWhy {
  const { candidates, isOnlyTime } = trace.ranking;
  const at = (index: number): WhyPlace | undefined => {
    const own = candidates[index];
    if (own === undefined) return undefined;
    const { path, startLine, endLine } = own.row;
    const score = own.placeScore ?? own.score;
    return { path, startLine, endLine, rank: index + 1, score, parts: scorePartsOf(own, isOnlyTime) };
  };
  const more = { place: at(rank), candidates: candidates.length, beatenBy: rank === 0 ? undefined : at(rank - 1) };
  const { score } = candidate;
  if (!passesScore(candidate, options))
    return ladder.failed(
      "score",
      `its score ${score.toFixed(3)} is below minScore ${options.minScore}`,
      { says: `Search with minScore ${floored(score)}.`, minScore: floored(score) },
      more,
    );
  const isOver = score >= options.minScore;
  const holds = `its score ${score.toFixed(3)} is below minScore ${options.minScore}, and it stays for the words that it holds`;
  ladder.ok("score", isOver ? `its score ${score.toFixed(3)} passes minScore ${options.minScore}` : holds);
  const { places, row, lines: texts } = candidate;
  const link = trace.legs.moved?.find(({ rows }) => rows.some(({ id }) => id === row.id));
  const stub = candidates.find((each) => each.row.id === link?.stub)?.row;
  const reranked = places === undefined ? "" : `; the reranker moved it from ${places.before} to ${places.after}`;
  const moved = stub === undefined ? reranked : `; the stub ${place(stub)} links to it${reranked}`;
  const ranked = `rank ${rank + 1} of ${candidates.length}`;
  ladder.ok("rank", `${ranked}${moved}`);

  const failed = (says: string, act: Act | string): SearchWhy =>
    ladder.failed("answer", `${ranked}, ${says}`, act, more);
  const cutByLimit = (why: string, least: number): SearchWhy => {
    const wanted = Math.min(mostResults, Math.max(least, options.maxResults + 1));
    const act = { says: `Show ${wanted} results.`, maxResults: wanted };
    return failed(`cut by the limit of ${counted(options.maxResults, "result")}${why}`, act);
  };
  if (!trace.notes.some((note) => note.includes(candidate))) {
    if (isNoise([candidate], trace.noiseLimit)) return failed("left out as noise beside the best score", otherWords);
    const passing = candidates.slice(0, rank + 1).filter((each) => passesScore(each, options));
    return cutByLimit(behind(more), new Set(passing.map(({ row }) => fileName(row))).size);
  }
  const own = trace.passages.filter(({ best }) => best.row.path === row.path && best.row.source === row.source);
  const isShown = own.some(
    ({ startLine, endLine, lines = [[startLine, endLine]] }) =>
      line === undefined || lines.some(([from, to]) => from <= line && line <= to),
  );
  if (isShown) return ladder.found(`it is in the answer, ${ranked}${moved}`, more);
  const why = own.length === 0 ? "no line of its note had room" : "other lines of its note were worth more of the room";
  const used = trace.passages.reduce((sum, { tokens }) => sum + tokens, 0);
  const needed = placeTokens + answerTokens(line === undefined ? "" : (texts[line - row.startLine] ?? ""));
  if (used + needed <= options.maxTokens - leastTokens) {
    const isFull = trace.passages.length >= options.maxResults;
    return isFull ? cutByLimit(`: ${why}`, 0) : failed("left out: what is shown holds more of the query", otherWords);
  }
  const wanted = Math.min(mostTokens, options.maxTokens * 2);
  const search = { says: `Search with ${wanted} tokens.`, maxTokens: wanted };
  const act = wanted > options.maxTokens ? search : "Ask for what this line alone says.";
  return failed(`cut by the budget of ${options.maxTokens} tokens: ${why}`, act);
}

function sayWords(ladder: Ladder, row: ChunkRow, { legs, ranking }: SearchTrace): void {
  const { terms } = ranking;
  if (legs.keyword === undefined) return ladder.note("words", "keyword search was not used");
  if (terms.length === 0) return ladder.note("words", "the query contains no word to search for");
  const { matches } = candidateOf(row, terms, legs.keyword.languages);
  const named = (isHeld: boolean): string => {
    const own = terms.filter((_, index) => matches.counts.has(index) === isHeld);
    return [...new Set(own.map(({ term, written = term }) => written))].join(", ");
  };
  const [held, missing] = [named(true), named(false)];
  if (held === "") return ladder.note("words", `it contains no word of the query; missing: ${missing}`);
  ladder.ok("words", missing === "" ? `it contains ${held}` : `it contains ${held}; missing: ${missing}`);
}

async function sayMeaning(
  ladder: Ladder,
  row: ChunkRow,
  { store, vectors, options: { signal } }: WhyInput,
  { legs, ranking, input }: SearchTrace,
): Promise<void> {
  if (legs.vector === undefined || vectors === undefined) return ladder.note("meaning", "vector search was not used");
  const seen = ranking.candidates.find((candidate) => candidate.row.id === row.id)?.vectorScore;
  if (seen !== undefined) return ladder.ok("meaning", `its similarity is ${seen.toFixed(3)}`);
  const { space, vector } = await vectors.embedQuery(input.query, signal);
  const scope = onlyIn([row.path]);
  const answer = await store.searchVector({ space, vector, sources: [row.source], scope, limit: mostResults });
  const found = answer.rows.find(({ id }) => id === row.id);
  const lowest = Math.min(...legs.vector.rows.map(({ score }) => score));
  if (found !== undefined) {
    const others = `the nearest vectors examined end at ${lowest.toFixed(3)}`;
    return ladder.note("meaning", `its similarity is ${found.score.toFixed(3)}, scored directly: ${others}`);
  }
  const refused = (await store.quarantined(space, 1000)).find(
    (each) => each.path === row.path && each.source === row.source && each.startLine === row.startLine,
  );
  if (refused === undefined) return ladder.note("meaning", "it has no vector yet: only keyword search finds it");
  ladder.note("meaning", `the embedding provider refused its text, only keyword search finds it: ${refused.reason}`);
}

function whyFiltered(row: ChunkRow, { asked, trace, options }: WhyInput): string | undefined {
  if (!asked.sources.includes(row.source)) {
    const searched = asked.sources.length === 0 ? "none" : asked.sources.join(", ");
    return `it is of the source ${row.source}, and the sources searched are: ${searched}`;
  }
  const alone = withoutEach(asked, options.sources).find(({ without }) => fittingPart(row, without) !== undefined);
  if (filtersRows(asked) && fittingPart(row, asked) === undefined)
    return `the query excludes it by ${alone?.name ?? "more than one of its filters"}`;
  const isOpen = trace?.places.some(({ source, scope }) => isAsked(row, { sources: [source], scope })) ?? true;
  if (isOpen) return undefined;
  return options.sessionKey === undefined
    ? "its note does not fit all filters of the query, or cannot be read now"
    : "the session that asks may not see it, or its note does not fit all filters";
}

async function rowsOf({ store, target, options }: WhyInput): Promise<ChunkRow[]> {
  const { path, text = "" } = target;
  const sources = [...new Set([...options.sources, "memory", "sessions", "journal", ...clientSources])];
  const scope = path === undefined ? undefined : onlyIn([path]);
  const rows = await store.listChunks({ sources, scope, withText: true });
  return path === undefined
    ? rows.filter((row) => holds(row, text))
    : rows.toSorted((a, b) => a.startLine - b.startLine);
}

function holds({ text }: ChunkRow, wanted: string): boolean {
  return plain(text).includes(plain(wanted));
}

function lineOf(row: ChunkRow, { line, text: wanted }: WhyTarget): number | undefined {
  if (wanted === undefined || isConversation(row)) return line;
  const { text, startLine } = row;
  const [first = ""] = wanted.trim().split("\n");
  const at = text.split("\n").findIndex((each) => plain(each).includes(plain(first)));
  return at < 0 ? undefined : startLine + at;
}

function plain(text: string): string {
  return text.normalize("NFC").replaceAll(/\s+/gu, " ").trim().toLowerCase();
}

function behind({ place: own, beatenBy }: Pick<SearchWhy, "place" | "beatenBy">): string {
  if (own === undefined || beatenBy === undefined) return "";
  const lead = beatenBy.score - own.score;
  const gains = (["words", "names", "dates", "meaning"] as const)
    .map((name) => ({ name, gain: beatenBy.parts[name] - own.parts[name] }))
    .toSorted((a, b) => b.gain - a.gain);
  const [most] = gains;
  const from = most !== undefined && most.gain > 0 ? `, most of it from ${most.name}` : "";
  return `; ${place(beatenBy)} before it leads by ${lead.toFixed(3)}${from}`;
}

function place({ path, startLine, endLine }: Pick<ChunkRow, "path" | "startLine" | "endLine">): string {
  return startLine === endLine ? `${path}:${startLine}` : `${path}:${startLine}-${endLine}`;
}

function counted(count: number, what: string): string {
  return count === 1 ? `1 ${what}` : `${count} ${what}s`;
}

function floored(score: number): number {
  return Math.floor(Math.max(0, score) * 100) / 100;
}

interface ScanReport {
  excluded: readonly SyncFailure[];
  accepted: readonly string[];
  issues: readonly string[];
}

type ScanReports = ReadonlyMap<string, ScanReport>;

function pathInIndex(given: string, workspaceDir: string): string {
  const relative = nodePath.relative(workspaceDir, nodePath.resolve(workspaceDir, given));
  return relative === "" ? given : relative.split(nodePath.sep).join("/");
}

/** Why a note of the workspace is not in the index: it is not there, it is excluded, or it was not taken yet. */
async function whyNotIndexed(
  file: string,
  { workspaceDir, settings }: MemoryPluginContext,
  sources: ScanReports,
): Promise<Pick<WhyRung, "says"> & { step: "file" | "indexed"; act?: string | undefined }> {
  const absolute = nodePath.resolve(workspaceDir, file);
  const inside = nodePath.relative(workspaceDir, absolute);
  const noNote = (says: string, act?: string): { step: "file"; says: string; act?: string | undefined } => {
    return { step: "file", says, act };
  };
  if (inside.startsWith("..") || nodePath.isAbsolute(inside))
    return noNote(`${file} is outside the workspace`, "Name its folder in extraPaths.");
  const problem = problemWith(file, sources);
  if (problem !== undefined)
    return { step: "indexed", says: `it could not be indexed: ${problem}`, act: "Repair the file, then sync." };
  try {
    const facts = await stat(absolute);
    if (!facts.isFile()) return noNote(`${file} is not a file`, "Name a note.");
  } catch (error) {
    if (codeOf(error) !== "ENOENT") return noNote(`${file} cannot be read: ${messageOf(error)}`);
    return noNote(`${file} does not exist`, "Check the spelling of the path; it is relative to the workspace.");
  }
  if (!isMarkdown(file)) return noNote(`${file} is not Markdown; only Markdown is searched`);
  const folders = inside.split(nodePath.sep).slice(0, -1);
  const ignored = folders.find((name) => name.startsWith(".") || ignoredFolders.has(name));
  if (ignored !== undefined) return noNote(`the folder ${ignored} is excluded`, "Move the note out of it.");
  const { layout } = notesLayout(workspaceDir, settings.notes);
  if (layout !== "all" && !/^(?:memory\/|(?:MEMORY|memory|USER)\.md$)/u.test(inside.split(nodePath.sep).join("/")))
    return noNote(
      `${file} is not searched: of this workspace only MEMORY.md, USER.md, memory/ and extraPaths are`,
      `Add ${JSON.stringify(folders[0] ?? inside)} to memorySearch.extraPaths.`,
    );
  return {
    step: "indexed",
    says: "it is not indexed yet, it has no text, or a .gitignore rule excludes it",
    act: "Sync, then ask again.",
  };
}

function problemWith(file: string, sources: ScanReports): string | undefined {
  for (const { excluded, accepted, issues } of sources.values()) {
    if (accepted.some((each) => each === file || file.startsWith(`${each}/`))) return "memorySearch.exclude names it";
    const failure = excluded.find((each) => each.path === file);
    if (failure !== undefined) return failure.reason;
    const issue = issues.find((each) => each.includes(file));
    if (issue !== undefined) return issue;
  }
  return undefined;
}
