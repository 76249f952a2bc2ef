import type { VNode } from "preact";
import type { HealthAnswer } from "../../../src/api-types.ts";
import { Failed, Loading } from "../../components/common-components.tsx";
import { status, syncing } from "../../state/server-events.ts";
import { refetch, useQuery } from "../../state/queries.ts";
import { t } from "../../words/translate.ts";
import { Actions } from "./health-actions.tsx";
import { IndexCard, MeaningCard, SyncCard, HistoryCard, SharedCard, UsageCard } from "./health-cards.tsx";

import "./health.css";

/** The health of the memory at a glance, with details below. */
export default function HealthView(): VNode {
  const now = status.value;
  const { data, error } = useQuery<HealthAnswer>("/api/health");
  if (now === undefined) return <Loading />;
  const excluded = data?.health.survey?.excluded;
  const notices = [...(now.custom?.notices ?? [])];
  return (
    <>
      <h1>{t("nav.health")}</h1>
      {data && <Summary health={data.health} />}
      {syncing.value?.progress && (
        <p role="status">
          {t("health.sync.running", {
            completed: syncing.value.progress.completed,
            total: syncing.value.progress.total,
          })}{" "}
          <progress value={syncing.value.progress.completed} max={syncing.value.progress.total} />
        </p>
      )}
      <Actions onDone={() => refetch()} quarantined={now.embedding?.quarantined?.length ?? 0} />
      {error && <Failed error={error} />}
      <div class="cards">
        <IndexCard now={now} />
        <SyncCard now={now} />
        <MeaningCard now={now} details={data?.details} />
        <UsageCard usage={data?.usage ?? []} details={data?.details} />
        {data?.details && <HistoryCard syncs={data.details.syncs} />}
        <section class="card">
          <h2>{t("health.problems")}</h2>
          {excluded === undefined && <p class="faint">{t("health.unchecked")}</p>}
          {excluded?.count === 0 && <p class="faint">{t("health.none")}</p>}
          {excluded !== undefined && excluded.byConfiguration > 0 && (
            <p class="faint">{t("health.accepted", { count: excluded.byConfiguration })}</p>
          )}
          <ul>
            {excluded?.notes.map(({ path, reason }) => (
              <li key={path}>
                <strong>{path}</strong> {reason}
              </li>
            ))}
          </ul>
        </section>
        {notices.length > 0 && (
          <section class="card">
            <h2>{t("health.notices")}</h2>
            <ul>
              {notices.map((notice) => (
                <li key={notice}>{notice}</li>
              ))}
            </ul>
          </section>
        )}
        <SharedCard />
      </div>
    </>
  );
}

function Summary({ health: { state, reason = "", action } }: Pick<HealthAnswer, "health">): VNode {
  const kind = state === "ok" ? "good" : state === "unknown" || state === "empty" ? "faint" : "warn";
  return (
    <p class={`summary ${kind}`} role="status">
      <span aria-hidden="true">{{ good: "●", faint: "○", warn: "▲" }[kind]}</span> {t(`health.${state}`, { reason })}{" "}
      {action}
    </p>
  );
}
