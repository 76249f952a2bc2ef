import type { ManagerSearchOptions, MemorySearchSettings, RerankedPlace, RerankReport, Reranker } from "@memslot/core";
import { estimateTokens } from "../text/token-weight.ts";
import { redactSecrets } from "../secrets/redact-secrets.ts";
import { namedQuery, nameMatch } from "../search/name-match.ts";
import type { Candidate, Ranking } from "../search/rank.ts";
import { createRerankCalls } from "./rerank-calls.ts";
import { namesIn, nameOfNote } from "../text/note-context.ts";
import type { WeightedTerm } from "../search/line-scores.ts";
import { choosePassages } from "../search/passages/choose-passages.ts";

/** What a candidate is read of, in tokens. */
const passageTokens = 400;
/** A model's own words around query and text, in tokens. */
const framingTokens = 16;
/** From here on a note or a heading is called as the query is: `nameMatch` of a later chunk of such a note. */
const namedLikeQuery = 0.85;

/** What is put into another order. */
interface RerankQuestion {
  query: string;
  ranking: Ranking;
  /** Whether a candidate may be in the answer. Others are not sent. */
  passes(candidate: Candidate): boolean;
  options: Pick<ManagerSearchOptions, "minScore" | "audience" | "signal">;
}

interface Reranked {
  candidates: Candidate[];
  /** Absent where there was nothing to put into order. */
  report?: RerankReport | undefined;
}

/** Puts the best candidates of a search into the order of a reranker. */
export interface RerankStage {
  /** Has it load what it needs, while other work goes on. */
  warm(): void;
  /** Ends in time and never fails: without an answer the order stays, and the report says why. Throws for an abort alone. */
  order(question: RerankQuestion): Promise<Reranked>;
}

export function createRerankStage(input: {
  reranker: Reranker;
  settings: Pick<MemorySearchSettings["query"]["rerank"], "candidates" | "timeoutMs">;
  now?: (() => number) | undefined;
}): RerankStage {
  const { reranker, settings, now } = input;
  const { id, model } = reranker;
  const calls = createRerankCalls({ reranker, timeoutMs: settings.timeoutMs, now });

  return {
    warm() {
      // What fails here fails again when it is needed.
      reranker.warm?.().catch(() => undefined);
    },

    async order({ query, ranking, passes, options }) {
      const { candidates, terms } = ranking;
      const asked = candidates.filter(passes).slice(0, settings.candidates);
      if (asked.length < 2) return { candidates };
      const started = performance.now();
      // As notes are: a key that is pasted into a question goes nowhere.
      const question = redactSecrets(query);
      const room = (reranker.maxInputTokens ?? Infinity) - estimateTokens(question) - framingTokens;
      const texts = asked.map((candidate) => rerankText(candidate, terms, Math.min(passageTokens, room)));
      const answer = await calls.ask(question, texts, options.signal);
      const facts = { id, model, candidates: asked.length };
      const ms = (): number => Math.round((performance.now() - started) * 10) / 10;
      if ("failure" in answer) {
        // What a server says may hold words of a note.
        const why = options.audience === "shared" ? "the reranker gave no answer" : answer.failure;
        const reason = `results are in the order of the index: ${why}`;
        return { candidates, report: { ...facts, state: "failed", reason, cached: false, ms: ms() } };
      }
      const sent = new Set(asked);
      const rest = candidates.filter((candidate) => !sent.has(candidate));
      const below = rest.find(passes)?.score ?? 0;
      const { order, places } = reorder(asked, answer.scores, { ranking, minScore: options.minScore, below });
      const report: RerankReport = { ...facts, state: "done", cached: answer.cached, ms: ms(), order: places };
      return { candidates: [...order, ...rest], report };
    },
  };
}

/**
 * The candidates by the reranker's scores. The first one stays first where it is named like the query: a name is what was
 * asked for, whatever stands in the note. Each takes the score of its place.
 */
function reorder(
  asked: readonly Candidate[],
  scores: readonly number[],
  { ranking, minScore, below }: { ranking: Ranking; minScore: number; below: number },
): { order: Candidate[]; places: RerankedPlace[] } {
  const [first] = asked;
  const isNamed = first !== undefined && isNamedLike(first, ranking);
  const entries = asked.map((candidate, index) => ({ candidate, index, rerankScore: scores[index] ?? 0 }));
  entries.sort((a, b) => {
    if (isNamed && (a.index === 0 || b.index === 0)) return a.index - b.index;
    return b.rerankScore - a.rerankScore || a.index - b.index;
  });
  const dealt = dealtScores(
    entries.map(({ candidate }) => candidate.score),
    { minScore, below },
  );
  return {
    order: entries.map(({ candidate, index }, place) => ({
      ...candidate,
      placeScore: dealt[place],
      places: { before: index + 1, after: place + 1 },
    })),
    places: entries.map(({ candidate, index, rerankScore }, place) => ({
      path: candidate.row.path,
      startLine: candidate.row.startLine,
      endLine: candidate.row.endLine,
      before: index + 1,
      after: place + 1,
      score: candidate.score,
      rerankScore,
    })),
  };
}

/** Results are sorted by score in the end: no two places have the same one. */
const step = 1e-6;

/**
 * The scores, given in the new order, dealt out to its places: the highest to the first. Strictly falling, at most 1, all
 * above `below`, and none under `minScore` that was not before.
 */
export function dealtScores(
  scores: readonly number[],
  { minScore, below }: { minScore: number; below: number },
): number[] {
  const dealt = scores.toSorted((a, b) => b - a);
  let lower = below;
  for (let place = dealt.length - 1; place >= 0; place--) {
    lower = Math.max(lower + step, dealt[place] ?? 0, Math.min(minScore, scores[place] ?? 0));
    dealt[place] = lower;
  }
  let upper = 1;
  return dealt.map((score) => {
    const held = Math.min(score, upper);
    upper = held - step;
    return held;
  });
}

function isNamedLike({ row, lines }: Candidate, { terms }: Ranking): boolean {
  return nameMatch(namedQuery(terms), { ...row, lines }) >= namedLikeQuery;
}

/**
 * What a reranker reads of a candidate: what the lines stand under, then the passage that would be shown of it. At most
 * about `maxTokens`, as estimated. Secrets are redacted in it, as in everything that the index holds.
 */
function rerankText(candidate: Candidate, terms: readonly WeightedTerm[], maxTokens: number): string {
  const { row } = candidate;
  const above = [...new Set([nameOfNote(row.path), ...namesIn(row.context).titles])].filter(Boolean).join(" > ");
  const room = Math.max(minTokens, Math.floor(maxTokens - estimateTokens(above)));
  const [passage] = choosePassages([[candidate]], terms, { maxResults: 1, maxTokens: room }).passages;
  return [above, passage?.snippet ?? ""].filter(Boolean).join("\n");
}

/** Under this there is nothing left to read. */
const minTokens = 100;
