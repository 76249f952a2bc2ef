import type { SearchReport } from "@memslot/core";
import type { VNode } from "preact";
import { t } from "../../words/words.ts";

/** What is to be known of an answer: how many, how far it can be believed, how the question was read. */
export function ReportLine({ report, shown }: { report: SearchReport | undefined; shown: number }): VNode | null {
  if (report === undefined) return null;
  const { legs, dropped, match, confidence, readings, filters, conditions, action, backend, mode } = report;
  const candidates = Math.max(legs.keyword?.candidates ?? 0, legs.vector?.candidates ?? 0);
  const left = dropped.limit + (dropped.tokens ?? 0);
  const facts = [
    t("search.count", { shown, candidates }),
    left > 0 ? t("search.more", { left }) : undefined,
    match && confidence !== undefined
      ? t("search.confidence", { level: match.level, value: confidence.toFixed(2) })
      : undefined,
    match?.reason,
    `${backend}, ${mode}`,
  ].filter((fact) => fact !== undefined);
  return (
    <div class="report">
      <p class="faint">{facts.join(" · ")}</p>
      {filters && <p class="faint">{t("search.read", { words: filters.words })}</p>}
      {filters?.unread?.map((each) => (
        <p key={each} class="warn">
          {each}
        </p>
      ))}
      {readings?.map(({ word, as }) => (
        <p key={word}>{t("search.reading", { word, as })}</p>
      ))}
      {conditions?.map(({ state, reason }) => (
        <p key={reason} class="notice">
          <strong>{state}</strong>: {reason}
        </p>
      ))}
      {action !== undefined && <p>{action}</p>}
    </div>
  );
}
