import type { VNode } from "preact";
import type { SearchReport } from "@memslot/core";
import { t } from "../../words/words.ts";

const signs = { strong: "●", weak: "◐", none: "○" } as const;
const classes = { strong: "good", weak: "warn", none: "bad" } as const;

/** Confidence of the answer, and remarks. */
export function AnswerState({ report, shown }: { report: SearchReport; shown: number }): VNode {
  const { match, readings, state, reason, action, filters, found } = report;
  const left = found === undefined ? 0 : found.passages - shown;
  return (
    <div class="answer-state">
      {match && (
        <p class={classes[match.level]}>
          <span aria-hidden="true">{signs[match.level]}</span> {t(`search.match.${match.level}`)}
          {match.reason && <span class="faint"> · {match.reason}</span>}
        </p>
      )}
      {state !== "ok" && (
        <p class="warn">
          <span aria-hidden="true">▲</span> {t(`search.state.${state}`)}: {reason} {action}
        </p>
      )}
      {readings?.map(({ word, as }) => (
        <p key={word}>{t("search.read", { word, as })}</p>
      ))}
      {filters?.unread?.map((text) => (
        <p key={text}>{text}</p>
      ))}
      {filters && (filters.since ?? filters.until) !== undefined && (
        <p class="faint">
          {filters.since ?? "…"} – {filters.until ?? "…"}
        </p>
      )}
      {left > 0 && (
        <p class="faint">{t(found?.more === true ? "search.more.atLeast" : "search.more", { count: left })}</p>
      )}
    </div>
  );
}
