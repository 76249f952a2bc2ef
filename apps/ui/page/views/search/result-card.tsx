import type { VNode } from "preact";
import type { FoundResult, ShownLine } from "../../../src/api-types.ts";
import { noteHref } from "../notes/note-addresses.ts";
import { PartsBar } from "./score-bar.tsx";

/** The first line with a word of the query. */
export function firstMatch({ lines, startLine }: Pick<FoundResult, "lines" | "startLine">): number {
  const match = lines.find((line) => line.kind === "line" && line.parts.some(({ match: isMatch }) => isMatch));
  return (match?.kind === "line" ? match.number : undefined) ?? startLine;
}

/** One result: its place, its numbered lines, and the parts of its score. */
export function ResultCard({ result, place }: { result: FoundResult; place: number }): VNode {
  const line = firstMatch(result);
  return (
    <li class="result card">
      <h2>
        <span class="faint">{place}.</span>{" "}
        <a href={noteHref(result.path, { line: String(line) })}>
          {result.path}:{line}
        </a>
      </h2>
      <p class="faint result-facts">
        <span>{result.score.toFixed(2)}</span>
        <span>{result.source}</span>
      </p>
      {result.parts && <PartsBar parts={result.parts} />}
      <Lines lines={result.lines} />
    </li>
  );
}

function Lines({ lines }: { lines: readonly ShownLine[] }): VNode {
  return (
    <ol class="lines">
      {lines.map((line, index) =>
        line.kind === "gap" ? (
          <li key={index} class="faint">
            …
          </li>
        ) : (
          <li key={index}>
            <span class="line-number">{line.number}</span>
            <span>{line.parts.map(({ text, match }, at) => (match ? <mark key={at}>{text}</mark> : text))}</span>
          </li>
        ),
      )}
    </ol>
  );
}
