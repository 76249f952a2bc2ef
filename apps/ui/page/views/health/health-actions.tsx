import type { MemoryHealth } from "@memslot/core";
import type { VNode } from "preact";
import { useState } from "preact/hooks";
import type { ActionAnswer, HealthAction } from "../../../src/api-types.ts";
import { Dialog, failureText } from "../../components/common-components.tsx";
import { ask, facts } from "../../state/api-client.ts";
import { refetch } from "../../state/queries.ts";
import { bytes, saidTogether, t } from "../../words/translate.ts";
import { Card, changedFiles } from "./health-cards.tsx";

const harmless: ReadonlySet<HealthAction> = new Set(["sync", "check"]);
const usual: readonly HealthAction[] = ["sync", "check", "fix", "compact"];

type Outcome = [text: string, kind: "good" | "bad"];

/**
 * The verdict of the library with its reason, the one next step, and the other actions. One runs at a time. `refused`: the
 * number of texts that the provider has refused.
 */
export function HealthActions({ health, refused }: { health: MemoryHealth; refused: number }): VNode {
  const [running, setRunning] = useState<HealthAction | undefined>(undefined);
  const [outcome, setOutcome] = useState<Outcome | undefined>(undefined);
  const [isAsking, setAsking] = useState(false);
  const run = async (action: HealthAction): Promise<void> => {
    setAsking(false);
    setRunning(action);
    setOutcome(undefined);
    try {
      setOutcome(outcomeOf(await ask<ActionAnswer>(`/api/health/${action}`, { body: {} })));
    } catch (error) {
      setOutcome([failureText(error), "bad"]);
    }
    setRunning(undefined);
    refetch();
  };
  const button = (action: HealthAction, kind?: "main" | "danger"): VNode => (
    <button
      key={action}
      type="button"
      class={kind}
      disabled={running !== undefined || (facts.value?.readOnly === true && !harmless.has(action))}
      onClick={() => (action === "force" && kind === undefined ? setAsking(true) : void run(action))}
    >
      {t(`health.act.${action}`)}
    </button>
  );
  const next = nextStep(health, refused);
  const { state } = health;
  const kind = state === "ok" ? "good" : state === "unknown" || state === "empty" ? "faint" : "warn";
  return (
    <>
      <section class="card verdict">
        <p class={`summary ${kind}`} role="status">
          <span aria-hidden="true">{{ good: "●", faint: "○", warn: "▲" }[kind]}</span>{" "}
          {t(`health.${state}`, { reason: reasonOf(health) })}
        </p>
        {state === "empty" && <p>{t("notes.empty.text", { folder: facts.value?.workspaceDir ?? "" })}</p>}
        {state === "degraded" &&
          (["files", "meaning"] as const).map(
            (part) => health[part].state === state && <p key={part}>{t(`health.advice.${part}`)}</p>,
          )}
        {next === "skipped" && <a href="#skipped">{t("notes.leftOut.title")}</a>}
        {next !== undefined && next !== "skipped" && button(next, "main")}
      </section>
      <Card title="health.actions">
        <p class="row">{usual.map((action) => action !== next && button(action))}</p>
        <p class="row">
          <span class="grow faint small">{t("health.rebuild.text")}</span>
          {button("force")}
        </p>
        <p role="status" class={outcome?.[1]}>
          {running === undefined ? outcome?.[0] : t("health.act.running")}
        </p>
        {isAsking && (
          <Dialog title={t("health.act.force")} onClose={() => setAsking(false)}>
            <p>{t("health.confirm")}</p>
            {button("force", "danger")}
          </Dialog>
        )}
      </Card>
    </>
  );
}

/** What the parts in the worst state report. */
function reasonOf({ state, files, index, meaning }: MemoryHealth): string {
  const parts = Object.entries({ files, index, meaning } as const).filter(([, part]) => part.state === state);
  return saidTogether(
    parts.map(([name, part]) =>
      part.code === "check.none" ? { reason: t(`health.unchecked.${name as "files" | "index" | "meaning"}`) } : part,
    ),
  );
}

/** By the part that is in the worst state. */
function nextStep({ state, files, index }: MemoryHealth, refused: number): HealthAction | "skipped" | undefined {
  if (state === "ok" || state === "empty") return undefined;
  if (index.state === state) return state === "degraded" ? "fix" : "sync";
  if (files.state === state) return state === "degraded" ? "skipped" : "sync";
  if (refused > 0) return "release";
  return state === "unknown" ? "check" : "sync";
}

function outcomeOf({ sync, check, compact, release }: ActionAnswer): Outcome {
  if (release !== undefined) return [t("health.done.release", { count: release.chunks }), "good"];
  if (sync !== undefined) {
    const failed = sync.failed.length;
    return [t("health.done.sync", { what: changedFiles({ ...sync, failed }) }), failed > 0 ? "bad" : "good"];
  }
  if (compact !== undefined) {
    const given = Math.max(0, compact.beforeBytes - compact.afterBytes);
    return [t("health.done.compact", { bytes: bytes(given) }), "good"];
  }
  const { findings = [] } = check ?? {};
  const wrong = findings.filter(({ ok }) => !ok);
  if (wrong.length === 0) return [t("health.done.check", { count: findings.length }), "good"];
  const what = wrong.map(({ message, fixed }) => [message, fixed].filter(Boolean).join(": ")).join("; ");
  return [t("health.done.wrong", { count: wrong.length, what }), "bad"];
}
