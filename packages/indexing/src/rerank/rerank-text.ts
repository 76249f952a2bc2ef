import { namesIn, nameOfNote } from "../text/note-context.ts";
import { estimateTokens } from "../text/token-weight.ts";
import type { WeightedTerm } from "../search/line-scores.ts";
import { choosePassages } from "../search/passages/choose-passages.ts";
import type { Candidate } from "../search/rank.ts";

/**
 * What a reranker reads of a candidate: what the lines stand under, then the passage that would be shown of it. At most
 * about `maxTokens`, as estimated. Secrets are redacted in it, as in everything that the index holds.
 */
export function rerankText(candidate: Candidate, terms: readonly WeightedTerm[], maxTokens: number): string {
  const { row } = candidate;
  const above = [...new Set([nameOfNote(row.path), ...namesIn(row.context).titles])].filter(Boolean).join(" > ");
  const room = Math.max(minTokens, Math.floor(maxTokens - estimateTokens(above)));
  const [passage] = choosePassages([[candidate]], terms, { maxResults: 1, maxTokens: room }).passages;
  return [above, passage?.snippet ?? ""].filter(Boolean).join("\n");
}

/** Under this there is nothing left to read. */
const minTokens = 100;
