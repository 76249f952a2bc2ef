import type { VNode } from "preact";
import type { HealthAnswer } from "../../../src/api-types.ts";
import { Loading, withCode } from "../../components/common-components.tsx";
import { useQuery } from "../../state/queries.ts";
import { status, syncing } from "../../state/server-events.ts";
import { t } from "../../words/translate.ts";
import { ExcludedFiles } from "../notes/excluded-files.tsx";
import { HealthActions } from "./health-actions.tsx";
import { Card, HistoryCard, IndexCard, MeaningCard, UsageCard } from "./health-cards.tsx";

import "./health.css";

/** The verdict on the memory and the next step, with details below. */
export default function HealthView(): VNode {
  const now = status.value;
  const progress = syncing.value?.progress;
  const { data, error } = useQuery<HealthAnswer>("/api/health");
  const { health, details, usage } = data ?? {};
  const notices = now?.custom?.notices ?? [];
  const refused = now?.embedding?.quarantined ?? [];
  return (
    <>
      <h1>{t("nav.health")}</h1>
      {syncing.value && (
        <p role="status">
          {progress
            ? t("health.sync.running", { completed: progress.completed, total: progress.total })
            : t("health.line.checking", { count: now?.files ?? 0 })}{" "}
          <progress aria-label={t("health.sync")} value={progress?.completed} max={progress?.total} />
        </p>
      )}
      {data === undefined && <Loading error={error} lines={9} />}
      <div class="cards">
        {health && <HealthActions health={health} refused={refused.length} />}
        <section class="card" id="skipped">
          <ExcludedFiles />
        </section>
        {notices.length > 0 && (
          <Card title="health.notices">
            {notices.map((notice) => (
              <p key={notice}>{withCode(notice)}</p>
            ))}
          </Card>
        )}
        {now && <IndexCard now={now} />}
        {now && <MeaningCard now={now} details={details} />}
        {refused.length > 0 && (
          <Card
            title="health.quarantined"
            rows={refused.map(({ path, startLine, endLine, reason }) => [`${path}:${startLine}-${endLine}`, reason])}
          />
        )}
        {usage && <UsageCard usage={usage} details={details} />}
        {details && <HistoryCard syncs={details.syncs} />}
      </div>
    </>
  );
}
