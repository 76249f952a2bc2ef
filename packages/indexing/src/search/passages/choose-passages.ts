import { type ManagerSearchOptions, type SearchOrder } from "@memslot/core";
import { answerTokens } from "@memslot/core/host";
import { fileName } from "../../chunk-store.ts";
import { lineScore, type WeightedTerm } from "../../text/bm25.ts";
import type { Candidate, Ranking } from "../rank.ts";
import {
  allPiecesOf,
  goesOn,
  hasOwnLines,
  idsOf,
  inOrder,
  isGap,
  isNextTo,
  isQuestion,
  parentsOf,
  type Passage,
  passagesOf,
  type Piece,
  piecesOf,
  sectionsOf,
  within,
} from "./passage.ts";
import { type AskedQuery, isFiltered } from "../query/query-filters.ts";
import { byDay, daysOfLine } from "../query/chunk-filter.ts";

const lookedAt = 30;
/** Places kept for further passages if the number of results is limited. */
const freePlaces = 3;
/** What a line is worth for its chunk alone, beside what it holds of the query. */
const chunkShare = 0.6;
const power = 0.5;
/** A further line worth less than this share of the best is displayed only with its whole section. */
const leastShare = 0.35;
/** A note whose best line is worth less than this share is displayed last. */
const leastOfNote = 0.3;
/** From this budget per result the number of results decides. */
const fewResults = 6;
const roomOfResult = 160;
/** An answer with fewer tokens includes its question. */
const shortAnswer = 20;
const gapTokens = 2.6;
/** Below this many tokens nothing that is worth reading fits. */
export const leastTokens = 10;
/** Only the best pieces of a note compete, one per three tokens of the budget. */
const tokensOfPiece = 3;
const mostRefused = 100;

export interface PassageLimits {
  maxResults: number;
  maxTokens: number;
  /** The notes keep their order; else the best comes first. A list: all notes have equal worth. */
  keepsOrder?: boolean;
}

export interface ChosenPassages {
  /** Each with the best of the chunks that its lines are of, best first. */
  passages: ScoredPassage[];
  /** Notes that had a place and no line within the budget. */
  overBudget: number;
  further: number;
}

export interface ScoredPassage extends Passage {
  best: Candidate;
  score: number;
}

interface NotePieces {
  candidates: Candidate[];
  pieces: readonly WorthyPiece[];
  places: ReadonlyMap<Piece, number>;
  /** See `parentsOf` and `idsOf`: made when the first piece is taken. */
  above?: { parents: readonly number[]; ids: ReadonlyMap<string, Piece> };
  chosen: Piece[];
  passages: Passage[];
  tokens: number;
}

type WorthyPiece = Piece & { worth: number };

/**
 * Chooses lines over all candidates to fill one budget. Worth of a line: `(score of its chunk / best score)^0.5 × (0.6
 * + its weight with neighbours / ideal)`. The first note (and others if the number of results counts) gets its best
 * line; the rest goes by worth, each line with its required context. The remaining budget completes notes and sections,
 * then adds notes of little worth. @param notes Candidates by note, best note and best candidate first.
 */
export function choosePassages(
  notes: readonly Candidate[][],
  terms: readonly WeightedTerm[],
  limits: PassageLimits,
): ChosenPassages {
  const top = Math.max(0, ...notes.map(([best]) => (best === undefined ? 0 : scoreOf(best))));
  const ideal = terms.reduce((sum, { idf }) => sum + idf, 0);
  const worthOf = ({ candidate, score }: Pick<Piece, "candidate" | "score">): number =>
    Math.max(1e-9, top > 0 ? scoreOf(candidate) / top : 1) ** power * (chunkShare + (ideal > 0 ? score / ideal : 0));
  const looked = new Set(
    notes
      .flat()
      .toSorted((a, b) => scoreOf(b) - scoreOf(a))
      .slice(0, lookedAt),
  );
  const isCounted = limits.maxTokens < leastTokens;
  const all = notes.map((candidates): NotePieces => {
    const read = isCounted ? [] : candidates.filter((candidate, index) => index === 0 || looked.has(candidate));
    const piecesBy = (make: typeof piecesOf): WorthyPiece[] =>
      onceEach(
        read
          .flatMap((candidate) => make(candidate, terms, limits.maxTokens - 40))
          .map((piece) => Object.assign(piece, { worth: worthOf(piece) })),
      );
    // A note that says nothing else is shown by its properties.
    const told = piecesBy(piecesOf);
    const pieces = told.length > 0 ? told : piecesBy(allPiecesOf);
    const places = new Map(pieces.map((piece, place) => [piece, place]));
    return { candidates, pieces, places, chosen: [], passages: [], tokens: 0 };
  });
  const numberCounts = limits.maxResults <= fewResults || limits.maxTokens >= roomOfResult * limits.maxResults;
  const sure = numberCounts ? Math.max(freePlaces, limits.maxResults - freePlaces) : 1;
  const budget = new Budget(limits);
  const most = Math.ceil(limits.maxTokens / tokensOfPiece);
  const worthiest = new Map(
    all.map((note) => [note, note.pieces.toSorted((a, b) => b.worth - a.worth).slice(0, most)]),
  );
  const best = Math.max(0, ...[...worthiest.values()].map(([piece]) => piece?.worth ?? 0));
  const least = limits.keepsOrder === true && numberCounts ? 0 : leastOfNote * best;
  const takeBestOf = (some: readonly NotePieces[], leastWorth = 0): void => {
    const pieces = some.map((note) => ({ note, piece: worthiest.get(note)?.[0] }));
    for (const { note, piece } of pieces) if (piece && piece.worth >= leastWorth) budget.take(note, piece);
  };
  takeBestOf(all.slice(0, sure), least);
  takeBestOf(all.filter((note) => isFirstOfItsKind(note, all)));
  const rest = [...worthiest]
    .flatMap(([note, pieces]) => pieces.map((piece) => ({ note, piece, place: note.places.get(piece) ?? 0 })))
    // Where all are worth the same, each note is shown from its beginning.
    .toSorted((a, b) => b.piece.worth - a.piece.worth || a.place - b.place);
  let refused = 0;
  for (const { note, piece } of rest) {
    if (budget.left < leastTokens || piece.worth < least) break;
    if (note.chosen.length > 0 && (piece.worth < leastShare * best || isBeside(note, piece))) continue;
    refused = budget.take(note, piece) ? 0 : refused + 1;
    if (refused === mostRefused) break;
  }
  if (limits.keepsOrder !== true) for (const note of all) budget.takeWhole(note);
  if (numberCounts) takeBestOf(all);
  const passages = all.flatMap(({ passages: own }) => scored(own));
  const shown = all.filter(({ chosen }) => chosen.length > 0);
  const worthOfChunk = (candidate: Candidate): number =>
    worthOf({ candidate, score: Math.max(0, ...candidate.matches.lines.map((line) => lineScore(line, terms))) });
  const further = shown.map((note) => {
    const unread = note.candidates.slice(1).filter((candidate) => !looked.has(candidate));
    return (
      leftOver(note, (piece) => piece.worth >= leastShare * best && holdsWord(piece, terms)) +
      unread.filter((candidate) => worthOfChunk(candidate) >= leastShare * best).length
    );
  });
  return {
    passages: limits.keepsOrder === true ? passages : passages.toSorted((a, b) => b.score - a.score),
    overBudget: all.length - shown.length,
    further: further.reduce((sum, count) => sum + count, 0),
  };
}

function leftOver({ pieces, chosen }: NotePieces, isWorthIt: (piece: WorthyPiece) => boolean): number {
  const taken = new Set(chosen);
  const isLeft = pieces.map((piece) => !taken.has(piece) && isWorthIt(piece));
  return isLeft.filter((left, at) => left && isLeft[at - 1] !== true).length;
}

function holdsWord({ candidate, at }: Piece, terms: readonly WeightedTerm[]): boolean {
  const held = [...(candidate.matches.lines[at]?.counts.keys() ?? [])];
  return terms.length === 0 || held.some((index) => terms[index]?.role === undefined);
}

/** No source displaces another, and vector results never displace exact matches. */
function isFirstOfItsKind(note: NotePieces, all: readonly NotePieces[]): boolean {
  const isSame = (other: NotePieces): boolean => other.candidates[0]?.row.source === note.candidates[0]?.row.source;
  const isExact = ({ candidates }: NotePieces): boolean => candidates.some(({ exact }) => exact);
  return all.find(isSame) === note || all.find(isExact) === note;
}

/** What it has where a reranker has given places. */
function scoreOf({ placeScore, score }: Candidate): number {
  return placeScore ?? score;
}

class Budget {
  readonly #limits: PassageLimits;
  #used = 0;
  #results = 0;

  constructor(limits: PassageLimits) {
    this.#limits = limits;
  }

  get left(): number {
    return this.#limits.maxTokens - this.#used;
  }

  /** Takes a piece with what is needed to read it, or alone, or not at all, which is false. */
  take(note: NotePieces, piece: Piece): boolean {
    if (note.chosen.includes(piece)) return true;
    const needed = neededFor(note, piece);
    return (needed.length > 0 && this.#add(note, [piece, ...needed])) || this.#add(note, [piece]);
  }

  takeWhole(note: NotePieces): void {
    const { pieces, chosen } = note;
    if (chosen.length === 0) return;
    const isWhole = pieces.every((piece, at) => at === 0 || !isGap(pieces[at - 1] as Piece, piece));
    if (isWhole && pieces[0]?.candidate.row.startLine === 1 && this.#add(note, pieces)) return;
    const shown = new Set(chosen);
    for (const section of sectionsOf(pieces)) if (section.some((piece) => shown.has(piece))) this.#add(note, section);
  }

  #add(note: NotePieces, pieces: readonly Piece[]): boolean {
    // A line takes about one token at least.
    if (pieces.length > note.tokens + this.left) return false;
    const chosen = [...new Set([...note.chosen, ...pieces])].toSorted(inOrder);
    const passages = passagesOf(chosen, note.passages);
    const tokens = passages.reduce((sum, passage) => sum + passage.tokens + gapTokens, 0);
    const used = this.#used - note.tokens + tokens;
    const results = this.#results - note.passages.length + passages.length;
    if (used > this.#limits.maxTokens || results > this.#limits.maxResults) return false;
    Object.assign(note, { chosen, passages, tokens });
    this.#used = used;
    this.#results = results;
    return true;
  }
}

/** A line that is in two chunks counts once, with its better worth. */
function onceEach(pieces: readonly WorthyPiece[]): WorthyPiece[] {
  const known = new Map<string, WorthyPiece>();
  for (const piece of pieces) {
    const { row } = piece.candidate;
    const place = hasOwnLines(piece.candidate) ? row.startLine + piece.at : `${row.id} ${piece.at}`;
    const key = `${place} ${piece.start} ${piece.text}`;
    const other = known.get(key);
    if (other === undefined || piece.worth > other.worth) known.set(key, piece);
  }
  return [...known.values()].toSorted(inOrder);
}

/** Lines needed to read a line: its sentence, its question, its headings, and its replacement. */
function neededFor(note: NotePieces, piece: Piece): Piece[] {
  const { pieces } = note;
  const at = note.places.get(piece) ?? 0;
  const [before, next] = [pieces[at - 1], pieces[at + 1]];
  const needed = new Set<Piece>();
  if (before !== undefined && isNextTo(before, piece)) {
    const answers = isQuestion(before.text) && answerTokens(piece.text) < shortAnswer;
    if (answers || goesOn(before.text, piece.text)) needed.add(before);
  }
  if (next !== undefined && isNextTo(piece, next) && (goesOn(piece.text, next.text) || piece.isHeading))
    needed.add(next);
  const { parents, ids } = (note.above ??= { parents: parentsOf(pieces), ids: idsOf(pieces) });
  // `~~old~~ … [[#^id]]` leads to the line that has taken its place.
  const id = piece.text.includes("~~") ? /\[\[#(\^[A-Za-z0-9-]{1,64})\]\]/u.exec(piece.text)?.[1] : undefined;
  for (const other of [ids.get(id ?? ""), pieces[parents[at] ?? -1]]) if (other !== undefined) needed.add(other);
  return [...needed];
}

function isBeside({ chosen }: NotePieces, { score, candidate }: Piece): boolean {
  return score === 0 && chosen.length > 0 && candidate.matches.counts.size > 0;
}

/** The passages of a note with scores: the best has the score of its chunk, further ones less. */
function scored(passages: readonly Passage[]): ScoredPassage[] {
  const worthOf = ({ pieces }: Passage): number => Math.max(...(pieces as WorthyPiece[]).map(({ worth }) => worth));
  const order = passages.toSorted((a, b) => worthOf(b) - worthOf(a));
  return order.map((passage, place) => {
    const best = passage.pieces
      .map(({ candidate }) => candidate)
      .reduce((one, other) => (scoreOf(other) > scoreOf(one) ? other : one));
    const share = worthOf(passage) / worthOf(order[0] as Passage);
    if (place > 0) return { ...passage, best, score: scoreOf(best) * Math.min(share, 0.99 ** place) };
    const rows = passage.pieces.map(({ candidate: { row } }) => row);
    const startLine = Math.min(...rows.map((row) => row.startLine));
    const endLine = Math.max(...rows.map((row) => row.endLine));
    return { ...within(passage, startLine, endLine), best, score: scoreOf(best) };
  });
}

/** What a match is worth at least, beside the best one, where they are put in the order of their days. */
const orderedShare = 0.5;
/** A note below this share of the best score is noise. */
const noiseShare = 0.05;

/** Applies `minScore` and the limit. The threshold is for vector results, unless the caller set it. */
export function chooseNotes(
  ranking: Ranking,
  options: ManagerSearchOptions,
  asked: AskedQuery | undefined,
): ChosenPassages & Record<"belowScore" | "overLimit" | "noteCount" | "noiseLimit", number> & { notes: Candidate[][] } {
  const passed = ranking.candidates.filter((candidate) => passesScore(candidate, options));
  const isList = ranking.isOnlyTime || (asked !== undefined && isFiltered(asked));
  const [best] = ranking.candidates;
  const noiseLimit = isList || best === undefined ? 0 : noiseShare * scoreOf(best);
  const all = [...Map.groupBy(ordered(passed, options.order), noteOf).values()];
  const bests = new Set(
    Map.groupBy(all, sourceOf)
      .values()
      .map(([first]) => first),
  );
  const notes = all.filter((note) => bests.has(note) || !isNoise(note, noiseLimit));
  const kept = withRoomForSources(notes, options.maxResults);
  return {
    ...choosePassages(kept, ranking.terms, { ...options, keepsOrder: (options.order ?? "relevance") !== "relevance" }),
    belowScore: ranking.candidates.length - passed.length + all.length - notes.length,
    overLimit: notes.length - kept.length,
    notes: kept,
    noiseLimit,
    noteCount: new Set(notes.map(([first]) => first && fileName(first.row))).size,
  };
}

function sourceOf(note: readonly Candidate[]): string | undefined {
  return note[0]?.row.source;
}

/** Whether all of a note is below the least score, and none of it holds the query exactly. */
export function isNoise(note: readonly Candidate[], least: number): boolean {
  return note.every((candidate) => scoreOf(candidate) < least && !candidate.exact);
}

export function passesScore(candidate: Candidate, options: Pick<ManagerSearchOptions, "minScore" | "strict">): boolean {
  if (candidate.score >= options.minScore || candidate.exact) return true;
  return candidate.textScore !== undefined && !options.strict;
}

function noteOf(candidate: Candidate): string {
  const { row } = candidate;
  return hasOwnLines(candidate) ? fileName(row) : `${fileName(row)}\0${row.id}`;
}

/** Orders matches about as good as the best by date. */
function ordered(candidates: readonly Candidate[], order: SearchOrder = "relevance"): readonly Candidate[] {
  if (order === "relevance") return candidates;
  const best = candidates[0]?.score ?? 0;
  return byDay(
    candidates.filter(({ score }) => score >= orderedShare * best),
    order,
    (candidate) => daysOfLine(candidate.row, indexOfBestLine(candidate)),
  );
}

function indexOfBestLine({ matches }: Candidate): number {
  const counts = matches.lines.map((line) => line.counts.size);
  return Math.max(0, counts.indexOf(Math.max(...counts)));
}

/** The best notes, with at least `limit / (2 × sources)` places per source, in the order of `notes`. */
function withRoomForSources(notes: readonly Candidate[][], limit: number): Candidate[][] {
  const sources = new Set(notes.map(sourceOf));
  const room = sources.size < 2 || limit < sources.size ? 0 : Math.max(1, Math.floor(limit / (2 * sources.size)));
  const kept = new Set<Candidate[]>();
  const exact = limit > 1 ? notes.find((note) => note.some((candidate) => candidate.exact)) : undefined;
  for (const source of sources) {
    for (const note of notes.filter((each) => sourceOf(each) === source).slice(0, room)) kept.add(note);
  }
  if (exact && kept.size < limit) kept.add(exact);
  for (const note of notes) {
    if (kept.size >= limit) break;
    kept.add(note);
  }
  return notes.filter((note) => kept.has(note));
}
