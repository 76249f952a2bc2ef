import type { MemoryHealth } from "@memslot/core";
import type { VNode } from "preact";
import { useState } from "preact/hooks";
import type { ActionAnswer, HealthAction } from "../../../src/api-types.ts";
import { Dialog, failureText } from "../../components/common-components.tsx";
import { ask, facts, told } from "../../state/api-client.ts";
import { refetch } from "../../state/queries.ts";
import { bytes, sentence, t } from "../../words/translate.ts";

const harmless: ReadonlySet<HealthAction> = new Set(["sync", "check"]);

export interface Actions {
  running: HealthAction | undefined;
  outcome: { text: string; isBad: boolean } | undefined;
  run: (action: HealthAction) => Promise<void>;
}

/** Runs actions, one at a time. */
export function useActions(): Actions {
  const [running, setRunning] = useState<HealthAction | undefined>(undefined);
  const [outcome, setOutcome] = useState<Actions["outcome"]>(undefined);
  const run = async (action: HealthAction): Promise<void> => {
    setRunning(action);
    setOutcome(undefined);
    try {
      setOutcome(outcomeOf(await ask<ActionAnswer>(`/api/health/${action}`, { method: "POST" })));
    } catch (error) {
      told(error);
      setOutcome({ text: sentence(failureText(error)), isBad: true });
    }
    setRunning(undefined);
    refetch();
  };
  return { running, outcome, run };
}

interface ActionProps {
  action: HealthAction;
  actions: Actions;
  kind?: "main" | "danger";
}

function ActionButton({ action, actions: { running, run }, kind }: ActionProps): VNode {
  const isRefused = facts.value?.readOnly === true && !harmless.has(action);
  return (
    <button type="button" class={kind} disabled={running !== undefined || isRefused} onClick={() => void run(action)}>
      {t(`health.act.${action}`)}
    </button>
  );
}

/** The verdict of the library with its reason, and the one next step. */
export function Verdict({
  health,
  actions,
  next,
}: {
  health: MemoryHealth;
  actions: Actions;
  next: HealthAction | "skipped" | undefined;
}): VNode {
  const { state, reason = "", action } = health;
  const kind = state === "ok" ? "good" : state === "unknown" || state === "empty" ? "faint" : "warn";
  return (
    <section class="card verdict">
      <p class={`summary ${kind}`} role="status">
        <span aria-hidden="true">{{ good: "●", faint: "○", warn: "▲" }[kind]}</span>{" "}
        {t(`health.${state}`, { reason: sentence(reason) })}
      </p>
      {action !== undefined && <p class="faint">{sentence(action)}</p>}
      {next === "skipped" && <a href="#skipped">{t("health.problems")}</a>}
      {next !== undefined && next !== "skipped" && <ActionButton action={next} actions={actions} kind="main" />}
    </section>
  );
}

/** By the part that is in the worst state. */
export function nextStep(
  { state, files, index }: MemoryHealth,
  rejected: number,
): HealthAction | "skipped" | undefined {
  if (state === "ok" || state === "empty") return undefined;
  if (index.state === state) return state === "degraded" ? "fix" : "sync";
  if (files.state === state) return state === "degraded" ? "skipped" : "sync";
  if (rejected > 0) return "release";
  return state === "unknown" ? "check" : "sync";
}

const usual: readonly HealthAction[] = ["sync", "check", "fix", "compact"];

/** The actions that are not the next step. A rebuild, which takes long, is apart and asks first. */
export function ActionList({ actions, next }: { actions: Actions; next: string | undefined }): VNode {
  const [isAsking, setAsking] = useState(false);
  const { running, outcome } = actions;
  return (
    <section class="card">
      <h2>{t("health.actions")}</h2>
      <p class="row">
        {usual.map((action) => action !== next && <ActionButton key={action} action={action} actions={actions} />)}
      </p>
      <p class="row">
        <span class="grow faint small">{t("health.rebuild.text")}</span>
        <button
          type="button"
          disabled={running !== undefined || facts.value?.readOnly === true}
          onClick={() => setAsking(true)}
        >
          {t("health.act.force")}
        </button>
      </p>
      <p role="status" class={outcome?.isBad === true ? "bad" : "good"}>
        {running === undefined ? outcome?.text : t("health.act.running")}
      </p>
      {isAsking && (
        <Dialog title={t("health.act.force")} onClose={() => setAsking(false)}>
          <p>{t("health.confirm")}</p>
          <div onClick={() => setAsking(false)}>
            <ActionButton action="force" actions={actions} kind="danger" />
          </div>
        </Dialog>
      )}
    </section>
  );
}

function outcomeOf({ sync, check, compact, release }: ActionAnswer): { text: string; isBad: boolean } {
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
