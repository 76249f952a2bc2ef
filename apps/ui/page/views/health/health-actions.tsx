import type { VNode } from "preact";
import { useState } from "preact/hooks";
import type { ActionAnswer, HealthAction } from "../../../src/api-types.ts";
import { ask, facts, told } from "../../state/api-client.ts";
import { failureText } from "../../components/common-components.tsx";
import { bytes, t } from "../../words/translate.ts";

const actions: readonly HealthAction[] = ["sync", "check", "fix", "compact", "force", "release"];
const harmless: ReadonlySet<HealthAction> = new Set(["sync", "check"]);

/** Actions, one at a time, and their results. */
export function Actions({ onDone, quarantined }: { onDone: () => void; quarantined: number }): VNode {
  const [running, setRunning] = useState<HealthAction | undefined>(undefined);
  const [outcome, setOutcome] = useState<{ text: string; isBad: boolean } | undefined>(undefined);
  const run = async (action: HealthAction): Promise<void> => {
    if (action === "force" && !confirm(t("health.confirm"))) return;
    setRunning(action);
    setOutcome(undefined);
    try {
      setOutcome(saidOf(await ask<ActionAnswer>(`/api/health/${action}`, { method: "POST" })));
    } catch (error) {
      told(error);
      setOutcome({ text: failureText(error), isBad: true });
    }
    setRunning(undefined);
    onDone();
  };
  return (
    <div class="actions">
      <p class="row">
        {actions.map((action) =>
          action === "release" && quarantined === 0 ? null : (
            <button
              key={action}
              type="button"
              disabled={running !== undefined || (facts.value?.readOnly === true && !harmless.has(action))}
              onClick={() => void run(action)}
            >
              {t(`health.act.${action}`)}
            </button>
          ),
        )}
      </p>
      <p role="status" class={outcome?.isBad === true ? "bad" : "good"}>
        {running === undefined ? outcome?.text : t("health.act.running")}
      </p>
    </div>
  );
}

function saidOf({ sync, check, compact, release }: ActionAnswer): { text: string; isBad: boolean } {
  if (release !== undefined) return { text: t("health.done.release", { count: release.chunks }), isBad: false };
  if (sync !== undefined) {
    const { added, changed, removed } = sync;
    return { text: t("health.done.sync", { added, changed, removed }), isBad: sync.failed.length > 0 };
  }
  if (check !== undefined) {
    const wrong = check.findings.filter(({ ok }) => !ok);
    if (wrong.length === 0) return { text: t("health.done.check", { count: check.findings.length }), isBad: false };
    const what = wrong.map(({ message, fixed }) => [message, fixed].filter(Boolean).join(": ")).join("; ");
    return { text: t("health.done.wrong", { count: wrong.length, what }), isBad: true };
  }
  const given = compact === undefined ? 0 : Math.max(0, compact.beforeBytes - compact.afterBytes);
  return { text: t("health.done.compact", { bytes: bytes(given) }), isBad: false };
}
