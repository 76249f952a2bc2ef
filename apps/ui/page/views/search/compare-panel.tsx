import type { VNode } from "preact";
import type { FoundResult, SearchAnswer } from "../../../src/api/search.ts";
import { Failed, Loading } from "../../parts/states.tsx";
import { pathWith } from "../../state/ask.ts";
import { goWith, query } from "../../state/place.ts";
import { useAnswer } from "../../state/use-answer.ts";
import { t } from "../../words/words.ts";
import { overlapAt10, type RankChange, rankChanges } from "./rank-changes.ts";

/** Names of what differs, in the address and on the way to the server. */
const settings = { cw: "words", cb: "backend", cmin: "min", cmax: "max", ctok: "tokens" } as const;
const fields = Object.keys(settings) as (keyof typeof settings)[];
const rowHeight = 22;

/** The same question with other settings beside the answer as it is, with the changes of rank drawn. */
export function ComparePanel({
  asked,
  now,
  revision,
}: {
  asked: Readonly<Record<string, string | undefined>>;
  now: readonly FoundResult[];
  revision: unknown;
}): VNode {
  const given = fields.filter((name) => query.value.has(name));
  const changed = Object.fromEntries(given.map((name) => [settings[name], query.value.get(name) ?? undefined]));
  const path =
    given.length > 0 && asked["q"] !== undefined ? pathWith("/api/search", { ...asked, ...changed }) : undefined;
  const { data, error, loading } = useAnswer<SearchAnswer>(path, revision);
  return (
    <details open={given.length > 0} class="card">
      <summary>{t("search.compare")}</summary>
      <p>{t("search.compare.text")}</p>
      <div class="row">
        {fields.map((name) => (
          <label key={name}>
            {t(`search.compare.${settings[name]}`)}
            <input
              size={name === "cb" ? 16 : 6}
              inputMode={name === "cb" ? "text" : "decimal"}
              value={query.value.get(name) ?? ""}
              onChange={(event) => goWith({ [name]: event.currentTarget.value.trim() })}
            />
          </label>
        ))}
      </div>
      <div aria-live="polite">
        {error && <Failed error={error} />}
        {path !== undefined && loading && <Loading />}
        {data && !error && <Changes now={now} other={data.results} />}
      </div>
    </details>
  );
}

function Changes({ now, other }: { now: readonly FoundResult[]; other: readonly FoundResult[] }): VNode {
  const changes = rankChanges(now, other);
  const counts = { now: now.length, other: other.length, overlap: overlapAt10(changes) };
  return (
    <>
      <p>{t("search.compare.counts", counts)}</p>
      <Slopes changes={changes} rows={Math.max(now.length, other.length)} />
      <div class="scroll">
        <table>
          <thead>
            <tr>
              <th scope="col">{t("search.compare.passage")}</th>
              <th scope="col">{t("search.compare.now")}</th>
              <th scope="col">{t("search.compare.other")}</th>
              <th scope="col">{t("search.compare.change")}</th>
            </tr>
          </thead>
          <tbody>
            {changes.map((change) => (
              <tr key={change.key}>
                <td class="mono place">{change.label}</td>
                <td>{change.now ?? "–"}</td>
                <td>{change.other ?? "–"}</td>
                <td class={kindOf(change)}>{described(change)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </>
  );
}

function Slopes({ changes, rows }: { changes: readonly RankChange[]; rows: number }): VNode {
  const y = (place: number): number => (place - 0.5) * rowHeight;
  return (
    <svg
      class="slopes"
      role="img"
      aria-label={t("search.compare.lines")}
      viewBox={`0 0 260 ${Math.max(1, rows) * rowHeight}`}
    >
      {changes.map((change) => {
        const { key, now, other } = change;
        return (
          <g key={key} class={kindOf(change)}>
            {now !== undefined && other !== undefined && <line x1={60} y1={y(now)} x2={200} y2={y(other)} />}
            {now !== undefined && (
              <text x={50} y={y(now) + 4} text-anchor="end">
                {other === undefined ? `× ${now}` : now}
              </text>
            )}
            {other !== undefined && (
              <text x={210} y={y(other) + 4}>
                {now === undefined ? `${other} +` : other}
              </text>
            )}
          </g>
        );
      })}
    </svg>
  );
}

function kindOf({ now, other }: RankChange): "up" | "down" | "same" | "new" | "gone" {
  if (now === undefined) return "new";
  if (other === undefined) return "gone";
  return other < now ? "up" : other > now ? "down" : "same";
}

const icons = { up: "▲", down: "▼", same: "=", new: "+", gone: "×" } as const;

function described(change: RankChange): string {
  const kind = kindOf(change);
  return `${icons[kind]} ${t(`search.compare.${kind}`, { by: Math.abs((change.now ?? 0) - (change.other ?? 0)) })}`;
}
