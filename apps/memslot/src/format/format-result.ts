import { type MemorySearchResult, visibleName, visibleText } from "@memslot/core";
import { highlight } from "./highlight.ts";
import type { Output } from "../terminal/output.ts";

/** One result for people: score, citation and the snippet with the matched words marked. */
export function formatResult(result: MemorySearchResult, query: string, style: Output["style"]): string {
  const citation = `${visibleName(result.path)}#L${result.startLine}-L${result.endLine}`;
  const snippet = highlight(visibleText(result.snippet).trimEnd(), query, (words) => style("bold", words));
  return `${style("green", result.score.toFixed(3))} ${style("cyan", citation)}\n${snippet}`;
}
