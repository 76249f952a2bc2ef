import type { VNode } from "preact";
import type { HealthAnswer } from "../../../src/api-types.ts";
import { Failed, Loading } from "../../components/common-components.tsx";
import { useQuery } from "../../state/queries.ts";
import { status, syncing } from "../../state/server-events.ts";
import { sentence, t } from "../../words/translate.ts";
import { ActionList, nextStep, useActions, Verdict } from "./health-actions.tsx";
import { IndexCard, MeaningCard, SyncCard, HistoryCard, SharedCard, UsageCard } from "./health-cards.tsx";

import "./health.css";

/** The verdict on the memory and the next step, with details below. */
export default function HealthView(): VNode {
  const now = status.value;
  const actions = useActions();
  const { data, error } = useQuery<HealthAnswer>("/api/health");
  const next = data && nextStep(data.health, now?.embedding?.quarantined?.length ?? 0);
  const notices = now?.custom?.notices ?? [];
  return (
    <>
      <h1>{t("nav.health")}</h1>
      {error && <Failed error={error} />}
      {data ? <Verdict health={data.health} actions={actions} next={next} /> : !error && <Loading />}
      <Checking />
      <div class="cards">
        {now && <IndexCard now={now} />}
        <SkippedCard excluded={data?.health.survey?.excluded} />
        <ActionList actions={actions} next={next} />
        {now && <SyncCard now={now} />}
        {now && <MeaningCard now={now} details={data?.details} />}
        {data && <UsageCard usage={data.usage} details={data.details} />}
        {data?.details && <HistoryCard syncs={data.details.syncs} />}
        {notices.length > 0 && (
          <section class="card">
            <h2>{t("health.notices")}</h2>
            <ul>
              {notices.map((notice) => (
                <li key={notice}>{sentence(notice)}</li>
              ))}
            </ul>
          </section>
        )}
        <SharedCard />
      </div>
    </>
  );
}

/** The running check of all files, if there is one. */
function Checking(): VNode | null {
  if (syncing.value === undefined) return null;
  const { progress } = syncing.value;
  return (
    <p role="status">
      {progress
        ? t("health.sync.running", { completed: progress.completed, total: progress.total })
        : t("health.line.checking", { count: status.value?.files ?? 0 })}{" "}
      <progress aria-label={t("health.sync")} {...(progress && { value: progress.completed, max: progress.total })} />
    </p>
  );
}

type Survey = NonNullable<HealthAnswer["health"]["survey"]>;

/** Notes and folders that are not searched, each with the reason. */
function SkippedCard({ excluded }: { excluded: Survey["excluded"] | undefined }): VNode {
  return (
    <section class="card" id="skipped">
      <h2>{t("health.problems")}</h2>
      {excluded === undefined && <Loading />}
      {excluded?.count === 0 && <p class="faint">{t("health.none")}</p>}
      {excluded !== undefined && excluded.byConfiguration > 0 && (
        <p class="faint">{t("health.accepted", { count: excluded.byConfiguration })}</p>
      )}
      <ul>
        {excluded?.notes.map(({ path, reason }) => (
          <li key={path}>
            <strong>{path}</strong> {sentence(reason)}
          </li>
        ))}
      </ul>
    </section>
  );
}
