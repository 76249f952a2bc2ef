import type { ScoreParts } from "@memslot/core";
import type { VNode } from "preact";
import { t } from "../../words/words.ts";

const names = ["words", "names", "dates", "meaning"] as const;

/** What a score is made of, as a bar and in numbers. The reranker is a move, and no part of the bar. */
export function ScoreBar({ parts, against }: { parts: ScoreParts; against?: ScoreParts | undefined }): VNode {
  const shown = names.filter((name) => parts[name] > 0.0005);
  const most = against && names.toSorted((a, b) => gain(b, parts, against) - gain(a, parts, against))[0];
  return (
    <div class="score-parts">
      <div class="score-bar" aria-hidden="true">
        {shown.map((name) => (
          <span key={name} class={`part part-${name}`} style={{ width: `${Math.min(1, parts[name]) * 100}%` }} />
        ))}
      </div>
      <ul>
        {shown.map((name) => (
          <li key={name}>
            <span class={`part key part-${name}`} aria-hidden="true" />
            {name === most ? <strong>{t(`search.part.${name}`)}</strong> : t(`search.part.${name}`)}{" "}
            {parts[name].toFixed(2)}
          </li>
        ))}
        {parts.rerank && (
          <li class="move">
            {t("search.part.rerank", { before: parts.rerank.before, after: parts.rerank.after })} (
            {parts.rerank.change < 0 ? "−" : "+"}
            {Math.abs(parts.rerank.change).toFixed(2)})
          </li>
        )}
      </ul>
    </div>
  );
}

function gain(name: (typeof names)[number], parts: ScoreParts, against: ScoreParts): number {
  return Math.abs(parts[name] - against[name]);
}
