import type { VNode } from "preact";
import type { FoundResult } from "../../../src/api/search.ts";
import { t } from "../../words/words.ts";
import { ScoreBar } from "./score-bar.tsx";

/** The results. Arrow keys go through them, Enter opens the one that is focused. */
export function ResultList({ results, words }: { results: readonly FoundResult[]; words: string }): VNode {
  const terms = words.toLowerCase().match(/[\p{L}\p{N}]{2,}/gu) ?? [];
  return (
    <ol class="results">
      {results.map((result) => (
        <li key={keyOf(result)} class="card result">
          <p class="row">
            <a class="mono place" href={addressOf(result)}>
              {result.path}:{lineOf(result)}
            </a>
            <span class="faint">{[result.day, result.source].filter(Boolean).join(" · ")}</span>
            <span class="score">
              {t("search.score")} {result.score.toFixed(2)}
            </span>
          </p>
          {result.heading !== undefined && <p class="faint">{result.heading}</p>}
          <div class="lines mono">
            {result.shown.map((line, index) =>
              line.gap ? (
                <div key={index} class="faint">
                  ⋯
                </div>
              ) : (
                <div key={index}>
                  <span class="number faint">{line.number}</span>
                  <span>{marked(line.text, terms)}</span>
                </div>
              ),
            )}
          </div>
          {result.parts && <ScoreBar parts={result.parts} />}
        </li>
      ))}
    </ol>
  );
}

export function keyOf({
  source,
  path,
  startLine,
  endLine,
}: Pick<FoundResult, "source" | "path" | "startLine" | "endLine">): string {
  return JSON.stringify([source, path, startLine, endLine]);
}

function addressOf(result: FoundResult): string {
  return `/notes/${result.path.split("/").map(encodeURIComponent).join("/")}?line=${lineOf(result)}`;
}

/** The first line that is shown. */
function lineOf({ startLine, shown }: FoundResult): number {
  const first = shown.find((line) => !line.gap);
  return first?.gap === false ? (first.number ?? startLine) : startLine;
}

/** A text with what is looked for marked: text and nothing else, whatever stands in it. */
function marked(text: string, terms: readonly string[]): (string | VNode)[] {
  const found: (string | VNode)[] = [];
  const lower = text.toLowerCase();
  // A letter that is longer in lower case would shift what is marked.
  if (terms.length === 0 || lower.length !== text.length) return [text];
  let from = 0;
  for (let at = 0; at < text.length;) {
    const term = terms.find((each) => lower.startsWith(each, at));
    if (term === undefined) at += 1;
    else {
      found.push(text.slice(from, at), <mark key={at}>{text.slice(at, at + term.length)}</mark>);
      at += term.length;
      from = at;
    }
  }
  return [...found, text.slice(from)];
}
