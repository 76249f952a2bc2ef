import { namesIn, nameOfNote } from "../text/note-context.ts";
import { estimateTokens } from "../text/token-weight.ts";
import type { WeightedTerm } from "../search/line-scores.ts";
import type { Candidate } from "../search/rank.ts";
import { snippetOf } from "../search/snippet.ts";

/**
 * What a reranker reads of a candidate: what the lines stand under, then the lines that match, with their neighbours. At
 * most about `maxTokens`, as estimated. Secrets are redacted in it, as in everything that the index holds.
 */
export function rerankText(
  { row, lines, matches }: Candidate,
  terms: readonly WeightedTerm[],
  maxTokens: number,
): string {
  const above = [...new Set([nameOfNote(row.path), ...namesIn(row.context).titles])].filter(Boolean).join(" > ");
  const text = lines.join("\n");
  const room = Math.max(minTokens, maxTokens - estimateTokens(above));
  const charactersPerToken = text.length / Math.max(1, estimateTokens(text));
  const passage = snippetOf(lines, matches.lines, terms, Math.floor(room * charactersPerToken));
  return above === "" ? passage : `${above}\n${passage}`;
}

/** Under this there is nothing left to read. */
const minTokens = 32;
