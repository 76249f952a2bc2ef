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
  type Sentence,
  type SentenceCode,
  type SentenceMeaning,
  type SyncFailure,
  type WhyPlace,
  type WhyRung,
  type WhyStep,
  type WhyTarget,
  clientSources,
} from "@memslot/core";
import { answerTokens, isConversation, placeTokens, sentence, sentenceIn } from "@memslot/core/host";
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
const otherWords = sentence("next.words");

interface WhyInput {
  store: NoteIndex;
  vectors: Embedder | undefined;
  asked: AskedQuery;
  options: ManagerSearchOptions;
  target: WhyTarget;
  /** Absent: nothing was ranked, all that fits the filters is listed. */
  trace: SearchTrace | undefined;
}

/** Search options that would return the target. */
type Change = Omit<NonNullable<SearchWhy["act"]>, "says">;

const steps = "file indexed passage filters words meaning candidate score rank answer".split(" ") as WhyStep[];

class Ladder {
  readonly rungs: WhyRung[] = [];

  readonly ok = (step: WhyStep, why: Sentence): void => this.#add(step, "ok", why);
  readonly note = (step: WhyStep, why: Sentence): void => this.#add(step, "note", why);

  failed(
    step: WhyStep,
    why: Sentence,
    next?: Sentence,
    more: Partial<SearchWhy> & { change?: Change } = {},
  ): SearchWhy {
    this.#add(step, "failed", why);
    const { change, ...others } = more;
    return { found: false, ...this.#whole(why), act: next && { ...change, ...said(next) }, ...others };
  }

  found(why: Sentence, more: Partial<SearchWhy>): SearchWhy {
    this.ok("answer", why);
    return { found: true, ...this.#whole(why), ...more };
  }

  #add(step: WhyStep, state: WhyRung["state"], why: Sentence): void {
    this.rungs.push({ step, state, ...said(why) });
  }

  #whole({ reason, ...meaning }: Sentence): Pick<SearchWhy, "rungs" | "sentence"> & SentenceMeaning {
    const known = new Map(this.rungs.map((rung) => [rung.step, rung]));
    const unknown = { state: "unknown", ...said(sentence("why.unreached")) } as const;
    return { rungs: steps.map((step) => known.get(step) ?? { step, ...unknown }), sentence: reason, ...meaning };
  }
}

function said({ reason, ...meaning }: Sentence): { says: string } & SentenceMeaning {
  return { says: reason, ...meaning };
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
      return ladder.failed("indexed", sentence("why.noText"), sentence("next.noteInstead"));
    const { step, why, next } = await whyNotIndexed(target.path, context, sources);
    if (step === "indexed") ladder.ok("file", sentence("why.there", { path: target.path }));
    return ladder.failed(step, why, next);
  }
  const [first] = rows;
  const path = first?.path ?? "";
  ladder.ok("file", sentence("why.source", { path, source: first?.source ?? "memory" }));
  const problem = problemWith(path, sources);
  if (problem === undefined) ladder.ok("indexed", sentence("why.indexed", { count: rows.length }));
  else ladder.note("indexed", sentence("why.earlier", { problem }));

  const { line, text } = target;
  const holding = rows.filter((row) =>
    text === undefined ? line === undefined || (row.startLine <= line && line <= row.endLine) : holds(row, text),
  );
  if (holding.length === 0)
    return ladder.failed("passage", sentence("why.noLine", { path, line: String(line) }), sentence("next.line"));
  const candidates = trace?.ranking.candidates ?? [];
  const rank = candidates.findIndex((candidate) => holding.some(({ id }) => id === candidate.row.id));
  const row = candidates[rank]?.row ?? holding.find((each) => fittingPart(each, asked) !== undefined) ?? holding[0];
  if (row === undefined) return ladder.failed("passage", sentence("why.noPassage", { path }));
  ladder.ok("passage", sentence("why.passage", { place: place(row) }));

  const filtered = whyFiltered(row, input);
  if (filtered !== undefined) return ladder.failed("filters", filtered, sentence("next.unfilter"));
  ladder.ok("filters", sentence("why.unfiltered"));
  if (trace === undefined) return ladder.found(sentence("why.listed"), {});

  sayWords(ladder, row, trace);
  await sayMeaning(ladder, row, input, trace);
  const candidate = candidates[rank];
  if (candidate === undefined) {
    const more = { candidates: candidates.length };
    if (isOfSession(row, trace.input.running))
      return ladder.failed("candidate", sentence("why.running"), sentence("next.session"), more);
    const other = candidates.find((each) => isConversation(row) && isOfSession(each.row, [sessionOf(path)]));
    const why =
      other === undefined
        ? sentence("why.noCandidate", { count: candidates.length })
        : sentence("why.sameSession", { place: place(other.row) });
    return ladder.failed("candidate", why, other === undefined ? otherWords : sentence("next.read"), more);
  }
  ladder.ok("candidate", sentence("why.candidate", { count: candidates.length }));
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
  const compared = { score: score.toFixed(3), minScore: String(options.minScore) };
  if (!passesScore(candidate, options)) {
    const minScore = floored(score);
    const next = sentence("next.minScore", { minScore: String(minScore) });
    return ladder.failed("score", sentence("why.lowScore", compared), next, { ...more, change: { minScore } });
  }
  ladder.ok("score", sentence(score >= options.minScore ? "why.score" : "why.words", compared));
  const { places, row, lines: texts } = candidate;
  const link = trace.legs.moved?.find(({ rows }) => rows.some(({ id }) => id === row.id));
  const stub = candidates.find((each) => each.row.id === link?.stub)?.row;
  const reranked = places === undefined ? "" : sentence("why.reranked", { before: places.before, after: places.after });
  const moved = stub === undefined ? reranked : sentence("why.stub", { place: place(stub), more: reranked });
  const ranked = (after: string | Sentence): Sentence =>
    sentence("why.rank", { rank: rank + 1, count: candidates.length, more: after });
  ladder.ok("rank", ranked(moved));

  const failed = (why: Sentence, next: Sentence, change?: Change): SearchWhy =>
    ladder.failed("answer", sentence("why.cut", { rank: ranked(""), why }), next, {
      ...more,
      ...(change && { change }),
    });
  const cutByLimit = (after: string | Sentence, least: number): SearchWhy => {
    const maxResults = Math.min(mostResults, Math.max(least, options.maxResults + 1));
    const why = sentence("why.limit", { count: options.maxResults, more: after });
    return failed(why, sentence("next.results", { count: maxResults }), { maxResults });
  };
  if (!trace.notes.some((note) => note.includes(candidate))) {
    if (isNoise([candidate], trace.noiseLimit)) return failed(sentence("why.noise"), otherWords);
    const passing = candidates.slice(0, rank + 1).filter((each) => passesScore(each, options));
    return cutByLimit(behind(more), new Set(passing.map(({ row }) => fileName(row))).size);
  }
  const own = trace.passages.filter(({ best }) => best.row.path === row.path && best.row.source === row.source);
  const isShown = own.some(
    ({ startLine, endLine, lines = [[startLine, endLine]] }) =>
      line === undefined || lines.some(([from, to]) => from <= line && line <= to),
  );
  if (isShown) return ladder.found(sentence("why.found", { rank: ranked(moved) }), more);
  const why = sentence(own.length === 0 ? "why.noRoom" : "why.otherLines");
  const used = trace.passages.reduce((sum, { tokens }) => sum + tokens, 0);
  const needed = placeTokens + answerTokens(line === undefined ? "" : (texts[line - row.startLine] ?? ""));
  if (used + needed <= options.maxTokens - leastTokens) {
    const isFull = trace.passages.length >= options.maxResults;
    return isFull ? cutByLimit(sentence("why.limitFor", { why }), 0) : failed(sentence("why.shown"), otherWords);
  }
  const maxTokens = Math.min(mostTokens, options.maxTokens * 2);
  const cut = sentence("why.budget", { count: options.maxTokens, why });
  if (maxTokens <= options.maxTokens) return failed(cut, sentence("next.lineAlone"));
  return failed(cut, sentence("next.tokens", { count: maxTokens }), { maxTokens });
}

function sayWords(ladder: Ladder, row: ChunkRow, { legs, ranking }: SearchTrace): void {
  const { terms } = ranking;
  if (legs.keyword === undefined) return ladder.note("words", sentence("why.noKeywords"));
  if (terms.length === 0) return ladder.note("words", sentence("empty.noWord"));
  const { matches } = candidateOf(row, terms, legs.keyword.languages);
  const named = (isHeld: boolean): string => {
    const own = terms.filter((_, index) => matches.counts.has(index) === isHeld);
    return [...new Set(own.map(({ term, written = term }) => written))].join(", ");
  };
  const [held, missing] = [named(true), named(false)];
  if (held === "") return ladder.note("words", sentence("why.noTerm", { missing }));
  if (missing === "") return ladder.ok("words", sentence("why.terms", { terms: held }));
  ladder.ok("words", sentence("why.someTerms", { terms: held, missing }));
}

async function sayMeaning(
  ladder: Ladder,
  row: ChunkRow,
  { store, vectors, options: { signal } }: WhyInput,
  { legs, ranking, input }: SearchTrace,
): Promise<void> {
  if (legs.vector === undefined || vectors === undefined) return ladder.note("meaning", sentence("why.noMeaning"));
  const seen = ranking.candidates.find((candidate) => candidate.row.id === row.id)?.vectorScore;
  if (seen !== undefined) return ladder.ok("meaning", sentence("why.similarity", { similarity: seen.toFixed(3) }));
  const { space, vector } = await vectors.embedQuery(input.query, signal);
  const scope = onlyIn([row.path]);
  const answer = await store.searchVector({ space, vector, sources: [row.source], scope, limit: mostResults });
  const found = answer.rows.find(({ id }) => id === row.id);
  const lowest = Math.min(...legs.vector.rows.map(({ score }) => score));
  if (found !== undefined) {
    const params = { similarity: found.score.toFixed(3), lowest: lowest.toFixed(3) };
    return ladder.note("meaning", sentence("why.direct", params));
  }
  const refused = (await store.quarantined(space, 1000)).find(
    (each) => each.path === row.path && each.source === row.source && each.startLine === row.startLine,
  );
  if (refused === undefined) return ladder.note("meaning", sentence("why.noVector"));
  ladder.note("meaning", sentence("why.refused", { error: refused.reason }));
}

function whyFiltered(row: ChunkRow, { asked, trace, options }: WhyInput): Sentence | undefined {
  if (!asked.sources.includes(row.source)) {
    const sources = asked.sources.length === 0 ? sentence("list.none") : asked.sources.join(", ");
    return sentence("why.otherSource", { source: row.source, sources });
  }
  const alone = withoutEach(asked, options.sources).find(({ without }) => fittingPart(row, without) !== undefined);
  if (filtersRows(asked) && fittingPart(row, asked) === undefined)
    return sentence("why.filter", { filter: alone?.name ?? sentence("filter.several") });
  const isOpen = trace?.places.some(({ source, scope }) => isAsked(row, { sources: [source], scope })) ?? true;
  if (isOpen) return undefined;
  return sentence(options.sessionKey === undefined ? "why.scope" : "why.session");
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

function behind({ place: own, beatenBy }: Pick<SearchWhy, "place" | "beatenBy">): string | Sentence {
  if (own === undefined || beatenBy === undefined) return "";
  const lead = (beatenBy.score - own.score).toFixed(3);
  const gains = (["words", "names", "dates", "meaning"] as const)
    .map((name) => ({ name, gain: beatenBy.parts[name] - own.parts[name] }))
    .toSorted((a, b) => b.gain - a.gain);
  const [most] = gains;
  const gain =
    most !== undefined && most.gain > 0 ? sentence("why.gain", { part: sentence(`why.part.${most.name}`) }) : "";
  return sentence("why.behind", { place: place(beatenBy), lead, more: gain });
}

function place({ path, startLine, endLine }: Pick<ChunkRow, "path" | "startLine" | "endLine">): string {
  return startLine === endLine ? `${path}:${startLine}` : `${path}:${startLine}-${endLine}`;
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
): Promise<{ step: "file" | "indexed"; why: Sentence; next?: Sentence | undefined }> {
  const absolute = nodePath.resolve(workspaceDir, file);
  const inside = nodePath.relative(workspaceDir, absolute);
  const noNote = (why: Sentence, next?: SentenceCode): { step: "file"; why: Sentence; next?: Sentence | undefined } => {
    return { step: "file", why, next: next && sentence(next) };
  };
  if (inside.startsWith("..") || nodePath.isAbsolute(inside))
    return noNote(sentence("why.outside", { path: file }), "next.extraPath");
  const problem = problemWith(file, sources);
  if (problem !== undefined)
    return { step: "indexed", why: sentence("why.failed", { problem }), next: sentence("next.repair") };
  try {
    const facts = await stat(absolute);
    if (!facts.isFile()) return noNote(sentence("why.notFile", { path: file }), "next.note");
  } catch (error) {
    if (codeOf(error) !== "ENOENT") return noNote(sentence("why.unreadable", { path: file, error: messageOf(error) }));
    return noNote(sentence("why.missing", { path: file }), "next.spelling");
  }
  if (!isMarkdown(file)) return noNote(sentence("why.notMarkdown", { path: file }));
  const folders = inside.split(nodePath.sep).slice(0, -1);
  const ignored = folders.find((name) => name.startsWith(".") || ignoredFolders.has(name));
  if (ignored !== undefined) return noNote(sentence("why.folder", { folder: ignored }), "next.move");
  const { layout } = notesLayout(workspaceDir, settings.notes);
  if (layout !== "all" && !/^(?:memory\/|(?:MEMORY|memory|USER)\.md$)/u.test(inside.split(nodePath.sep).join("/")))
    return {
      ...noNote(sentence("why.layout", { path: file })),
      next: sentence("next.add", { path: JSON.stringify(folders[0] ?? inside) }),
    };
  return { step: "indexed", why: sentence("why.unindexed"), next: sentence("next.sync") };
}

function problemWith(file: string, sources: ScanReports): string | Sentence | undefined {
  for (const { excluded, accepted, issues } of sources.values()) {
    if (accepted.some((each) => each === file || file.startsWith(`${each}/`))) return sentence("why.chosen");
    const failure = excluded.find((each) => each.path === file);
    if (failure !== undefined) return sentenceIn(failure);
    const issue = issues.find((each) => each.includes(file));
    if (issue !== undefined) return issue;
  }
  return undefined;
}
