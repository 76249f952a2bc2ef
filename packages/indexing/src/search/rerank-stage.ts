import { createHash } from "node:crypto";
import {
  EmbeddingError,
  isAbort,
  type ManagerSearchOptions,
  MemoryError,
  type MemorySearchSettings,
  type RerankedPlace,
  type Reranker,
  type RerankReport,
  type Sentence,
  withDeadline,
} from "@memslot/core";
import { createCooldown, type Cooldown, sentence, sentenceOf } from "@memslot/core/host";
import { redactSecrets } from "../secrets/redact-secrets.ts";
import type { WeightedTerm } from "../text/bm25.ts";
import { namedQuery, nameMatch } from "./name-match.ts";
import { choosePassages, passesScore } from "./passages/choose-passages.ts";
import type { Candidate, Ranking } from "./rank.ts";
import { namesIn, nameOfNote } from "../text/note-context.ts";
import { estimateTokens } from "../text/split-by-tokens.ts";

const passageTokens = 400;
const minTokens = 100;
/** A model's own words around query and text, in tokens. */
const framingTokens = 16;
const namedLikeQuery = 0.85;
const cachedAnswers = 256;
/** Cooldown of a reranker, in milliseconds, after a failure that another try would meet again. */
const restMs = { transient: 5000, rate: 15_000, input: 0, auth: 60_000, quota: 60_000 } as const;
const step = 1e-6;

type RerankAnswer = { scores: readonly number[]; cached: boolean } | { failure: Sentence };

/** Puts the best candidates of a search into the order of a reranker. */
export class RerankStage {
  readonly #reranker: Reranker;
  readonly #settings: Pick<MemorySearchSettings["query"]["rerank"], "candidates" | "timeoutMs">;
  readonly #rest: Cooldown<Sentence>;
  /** Ordered by last use, most recent last. */
  readonly #recent = new Map<string, readonly number[]>();
  readonly #name: string;

  /** `now`: a clock that never goes back, in milliseconds. */
  constructor(
    reranker: Reranker,
    settings: Pick<MemorySearchSettings["query"]["rerank"], "candidates" | "timeoutMs">,
    now?: () => number,
  ) {
    this.#reranker = reranker;
    this.#settings = settings;
    this.#rest = createCooldown(now);
    this.#name = `the reranker "${reranker.id}"`;
  }

  warm(): void {
    this.#reranker.warm?.().catch(() => undefined);
  }

  /** Never fails: without an answer in time the order stays. Throws only on abort. */
  async order(
    { query, options }: { query: string; options: ManagerSearchOptions },
    ranking: Ranking,
  ): Promise<{ candidates: Candidate[]; report?: RerankReport | undefined }> {
    const { id, model, maxInputTokens = Infinity } = this.#reranker;
    const { candidates, terms } = ranking;
    const passes = (candidate: Candidate): boolean => passesScore(candidate, options);
    const asked = candidates.filter(passes).slice(0, this.#settings.candidates);
    if (asked.length < 2) return { candidates };
    const started = performance.now();
    // As notes are: a key that is pasted into a question goes nowhere.
    const question = redactSecrets(query);
    const room = maxInputTokens - estimateTokens(question) - framingTokens;
    const texts = asked.map((candidate) => rerankText(candidate, terms, Math.min(passageTokens, room)));
    const answer = await this.#ask(question, texts, options.signal);
    const facts = { id, model, candidates: asked.length };
    const ms = (): number => Math.round((performance.now() - started) * 10) / 10;
    if ("failure" in answer) {
      // The server's message may quote a note.
      const why = options.audience === "shared" ? sentence("rerank.silent") : answer.failure;
      const failed = { state: "failed", ...sentence("rerank.order", { why }) } as const;
      return { candidates, report: { ...facts, ...failed, cached: false, ms: ms() } };
    }
    const sent = new Set(asked);
    const rest = candidates.filter((candidate) => !sent.has(candidate));
    const limits = { minScore: options.minScore, below: rest.find(passes)?.score ?? 0 };
    const { order, places } = reorder(asked, answer.scores, ranking, limits);
    const report: RerankReport = { ...facts, state: "done", cached: answer.cached, ms: ms(), order: places };
    return { candidates: [...order, ...rest], report };
  }

  async #ask(query: string, texts: readonly string[], signal: AbortSignal): Promise<RerankAnswer> {
    signal.throwIfAborted();
    const request = JSON.stringify([this.#reranker.model, query, texts]);
    const key = createHash("sha256").update(request).digest("base64");
    const known = this.#recent.get(key);
    if (known !== undefined) {
      this.#cache(key, known);
      return { scores: known, cached: true };
    }
    const resting = this.#rest.current();
    if (resting !== undefined) {
      const seconds = Math.ceil(resting.remainingMs / 1000);
      return { failure: sentence("rerank.cooldown", { failure: resting.failure, seconds }) };
    }
    try {
      const limits = { what: this.#name, deadlineMs: this.#settings.timeoutMs, signals: [signal] };
      const scores = await withDeadline(limits, (inner) => this.#askTwice(query, Object.freeze([...texts]), inner));
      this.#cache(key, scores);
      return { scores, cached: false };
    } catch (error) {
      if (signal.aborted) throw error;
      const failure = isAbort(error) ? { reason: `${this.#name} ended the request` } : sentenceOf(error);
      const { kind, retryAfterMs } = EmbeddingError.is(error) ? error : { kind: "transient" as const };
      const forMs = retryAfterMs ?? restMs[kind];
      if (forMs > 0) this.#rest.start(failure, forMs);
      return { failure };
    }
  }

  /** One more try where the first has failed by chance. */
  async #askTwice(query: string, texts: readonly string[], signal: AbortSignal): Promise<readonly number[]> {
    const once = async (): Promise<readonly number[]> => {
      const scores = await this.#reranker.rerank(query, texts, { signal });
      const problem = problemOf(scores, texts.length);
      if (problem !== undefined) throw new MemoryError("PLUGIN", `${this.#name} broke its contract: ${problem}`);
      return Array.from(scores);
    };
    try {
      return await once();
    } catch (error) {
      if (signal.aborted || !EmbeddingError.is(error, "transient")) throw error;
      return await once();
    }
  }

  #cache(key: string, scores: readonly number[]): void {
    this.#recent.delete(key);
    this.#recent.set(key, scores);
    const [oldest] = this.#recent.keys();
    if (this.#recent.size > cachedAnswers && oldest !== undefined) this.#recent.delete(oldest);
  }
}

function problemOf(scores: unknown, count: number): string | undefined {
  if (!Array.isArray(scores)) return "it gave no list of scores";
  if (scores.length !== count) return `it gave ${scores.length} scores for ${count} texts`;
  return scores.every((score) => Number.isFinite(score)) ? undefined : "a score is no finite number";
}

/** Orders by reranker score and reassigns scores; a first result named like the query stays first. */
function reorder(
  asked: readonly Candidate[],
  scores: readonly number[],
  { terms }: Ranking,
  limits: { minScore: number; below: number },
): { order: Candidate[]; places: RerankedPlace[] } {
  const query = namedQuery(terms);
  const isNamed = asked.slice(0, 1).some(({ row, lines }) => nameMatch(query, { ...row, lines }) >= namedLikeQuery);
  const entries = asked.map((candidate, index) => ({ candidate, index, rerankScore: scores[index] ?? 0 }));
  entries.sort((a, b) => {
    if (isNamed && (a.index === 0 || b.index === 0)) return a.index - b.index;
    return b.rerankScore - a.rerankScore || a.index - b.index;
  });
  const dealt = dealtScores(
    entries.map(({ candidate }) => candidate.score),
    limits,
  );
  const placed = entries.map((entry, place) => ({ ...entry, places: { before: entry.index + 1, after: place + 1 } }));
  return {
    order: placed.map(({ candidate, places }, place) => ({ ...candidate, placeScore: dealt[place], places })),
    places: placed.map(({ candidate: { row, score }, places, rerankScore }) => ({
      path: row.path,
      startLine: row.startLine,
      endLine: row.endLine,
      ...places,
      score,
      rerankScore,
    })),
  };
}

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

/** Text for a reranker: headings and passage, redacted, at most about `maxTokens`. */
function rerankText(candidate: Candidate, terms: readonly WeightedTerm[], maxTokens: number): string {
  const { row } = candidate;
  const above = [...new Set([nameOfNote(row.path), ...namesIn(row.context).titles])].filter(Boolean).join(" > ");
  const room = Math.max(minTokens, Math.floor(maxTokens - estimateTokens(above)));
  const [passage] = choosePassages([[candidate]], terms, { maxResults: 1, maxTokens: room }).passages;
  return [above, passage?.snippet ?? ""].filter(Boolean).join("\n");
}
