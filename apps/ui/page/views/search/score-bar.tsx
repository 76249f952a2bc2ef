import type { VNode } from "preact";
import type { ScoreParts } from "@memslot/core";
import { t } from "../../words/translate.ts";

const names = ["words", "names", "dates", "meaning"] as const;

/** The parts of a score, as a bar from 0 to 1 and in words. */
export function PartsBar({ parts }: { parts: ScoreParts }): VNode {
  const shown = names.filter((name) => parts[name] >= 0.005);
  return (
    <div class="parts">
      <div class="parts-bar" aria-hidden="true">
        {shown.map((name) => (
          <span key={name} class={`part part-${name}`} style={{ width: `${(parts[name] * 100).toFixed(1)}%` }} />
        ))}
      </div>
      <p class="parts-words">
        {shown.map((name) => (
          <span key={name}>
            <span class={`part part-${name} part-sign`} aria-hidden="true" /> {t(`search.part.${name}`)}{" "}
            {parts[name].toFixed(2)}
          </span>
        ))}
        {parts.rerank && (
          <span>{t("search.part.rerank", { before: parts.rerank.before, after: parts.rerank.after })}</span>
        )}
      </p>
    </div>
  );
}
