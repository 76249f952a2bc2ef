import type { VNode } from "preact";
import { useState } from "preact/hooks";
import type { IndexDetails } from "@memslot/core";
import { formatted, t, when } from "../../words/words.ts";

const few = 8;

/** The last syncs of all processes, newest first, with their durations. */
export function HistoryCard({ syncs }: Pick<IndexDetails, "syncs">): VNode {
  const [isWhole, setWhole] = useState(false);
  const longest = Math.max(1, ...syncs.map(({ durationMs }) => durationMs));
  return (
    <section class="card wide">
      <h2>{t("health.history")}</h2>
      {syncs.length === 0 && <p class="faint">{t("health.none")}</p>}
      {syncs.length > 0 && (
        <div class="scroll">
          <table>
            <thead>
              <tr>
                <th>{t("health.history.when")}</th>
                <th>{t("health.history.why")}</th>
                <th>{t("health.history.what")}</th>
                <th>{t("health.history.ms")}</th>
                <th class="bar">
                  <span class="hidden">{t("health.history.ms")}</span>
                </th>
              </tr>
            </thead>
            <tbody>
              {syncs.slice(0, isWhole ? syncs.length : few).map((sync) => (
                <tr key={`${sync.finishedAt} ${sync.reason}`}>
                  <td>{when(sync.finishedAt, { dateStyle: "medium", timeStyle: "medium" })}</td>
                  <td>{sync.reason}</td>
                  <td class={sync.error === undefined ? "" : "bad"}>{sync.error ?? filesOf(sync)}</td>
                  <td>{formatted(Math.round(sync.durationMs))}</td>
                  <td class="bar">
                    <meter value={sync.durationMs} max={longest} aria-label={sync.finishedAt} />
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
      {syncs.length > few && (
        <button type="button" class="quiet" aria-expanded={isWhole} onClick={() => setWhole(!isWhole)}>
          {t(isWhole ? "health.history.less" : "health.history.all", { count: syncs.length })}
        </button>
      )}
    </section>
  );
}

function filesOf({ added = 0, changed = 0, removed = 0, failed = 0 }: IndexDetails["syncs"][number]): string {
  return t("health.history.files", { added, changed, removed, failed });
}
