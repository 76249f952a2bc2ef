import type { VNode } from "preact";
import { session } from "../state/api-client.ts";
import { status, syncing } from "../state/server-events.ts";
import { t } from "../words/translate.ts";

/** Whether answers can be relied on, in a few words that lead to the details. */
export function HealthLine(): VNode | null {
  const checked = syncing.value && { count: syncing.value.progress?.total ?? status.value?.files ?? 0 };
  const [kind, text] =
    session.value === "offline"
      ? (["bad", t("shell.offline.title")] as const)
      : checked !== undefined
        ? (["faint", t("health.line.checking", checked)] as const)
        : status.value === undefined
          ? (["faint", t("shell.loading")] as const)
          : status.value.fallback !== undefined || status.value.lastSyncError !== undefined
            ? (["warn", t("search.state.degraded")] as const)
            : (["good", t("health.line.files", { count: status.value.files ?? 0 })] as const);
  if (session.value === "locked") return null;
  return (
    <a class="health-line" href="/health">
      <i class={kind} aria-hidden="true" />
      <span class="line">{text}</span>
    </a>
  );
}
