import type { IndexFinding, MemoryHealth } from "@memslot/core";
import type { VNode } from "preact";
import { useState } from "preact/hooks";
import type { ActionAnswer, HealthAction } from "../../../src/api-types.ts";
import { failureText } from "../../components/common-components.tsx";
import { ask, facts } from "../../state/api-client.ts";
import { refetch } from "../../state/queries.ts";
import { language } from "../../state/preferences.ts";
import { bytes, named, said, t } from "../../words/translate.ts";
import { Card, changedFiles } from "./health-cards.tsx";

const harmless: ReadonlySet<HealthAction> = new Set(["sync", "check"]);
const usual: readonly HealthAction[] = ["sync", "check", "fix", "compact"];
const kinds = { ok: "good", unknown: "faint", empty: "faint", stale: "warn", degraded: "warn", unavailable: "warn" };

type Outcome = [text: VNode | string, kind: "good" | "bad" | "running"];

/**
 * The verdict of the library with its reason, the one next step, and the other actions. One runs at a time. `refused`: the
 * number of texts that the provider has refused.
 */
export function HealthActions({ health, refused }: { health: MemoryHealth; refused: number }): VNode {
  const [[outcome, outcomeKind], setOutcome] = useState<Outcome | []>([]);
  const run = async (action: HealthAction): Promise<void> => {
    setOutcome([t("health.act.running"), "running"]);
    try {
      setOutcome(outcomeOf(await ask<ActionAnswer>(`/api/health/${action}`, { body: {} })));
    } catch (error) {
      setOutcome([failureText(error), "bad"]);
    }
    refetch();
  };
  const button = (action: HealthAction, kind?: "main" | "danger"): VNode => (
    <button
      key={action}
      type="button"
      class={kind}
      disabled={outcomeKind === "running" || (facts.value?.readOnly === true && !harmless.has(action))}
      onClick={() => void run(action)}
    >
      {t(`health.act.${action}`)}
    </button>
  );
  const next = nextStep(health, refused);
  const { state, files, meaning } = health;
  return (
    <>
      <section class="card verdict">
        <p class={`summary sign ${kinds[state]}`} role="status">
          {t(`health.${state}`, { reason: said(health) })}
        </p>
        {state === "empty" && <p>{t("notes.empty.text", { folder: facts.value?.workspaceDir ?? "" })}</p>}
        {state === "degraded" && files.state === state && <a href="#skipped">{t("health.advice.files")}</a>}
        {state === "degraded" && meaning.state === state && <p>{t("health.advice.meaning")}</p>}
        {next && button(next, "main")}
      </section>
      <Card title="health.actions">
        <p class="row">{usual.map((action) => action !== next && button(action))}</p>
        <div role="status" class={outcomeKind}>
          {outcome}
        </div>
        <details>
          <summary>{t("health.act.force")}</summary>
          <p>{t("health.rebuild.text")}</p>
          {button("force", "danger")}
        </details>
      </Card>
    </>
  );
}

/** By the part that is in the worst state; excluded files have none here. */
function nextStep({ state, files, index }: MemoryHealth, refused: number): HealthAction | undefined {
  if (state === "ok" || state === "empty") return undefined;
  if (index.state === state) return state === "degraded" ? "fix" : "sync";
  if (files.state === state) return state === "degraded" ? undefined : "sync";
  if (refused > 0) return "release";
  return state === "unknown" ? "check" : "sync";
}

function outcomeOf({ sync, check, compact, releaseQuarantine: release }: ActionAnswer): Outcome {
  if (release !== undefined) return [t("health.done.release", { count: release.chunks }), "good"];
  if (sync !== undefined) {
    const failed = sync.failed.length;
    return [t("health.done.sync", { what: changedFiles({ ...sync, failed }) }), failed > 0 ? "bad" : "good"];
  }
  if (compact !== undefined)
    return [t("health.done.compact", { bytes: bytes(Math.max(0, compact.beforeBytes - compact.afterBytes)) }), "good"];
  const { findings = [] } = check ?? {};
  const wrong = findings.filter(({ ok }) => !ok).length;
  const summary =
    wrong > 0 ? t("health.done.wrong", { count: wrong }) : t("health.done.check", { count: findings.length });
  const shown = findings.filter(({ ok, fixed }) => !ok || fixed !== undefined);
  const outcome = (
    <>
      {summary}
      {shown.length > 0 && <ul>{shown.map(findingRow)}</ul>}
    </>
  );
  return [outcome, wrong > 0 ? "bad" : "good"];
}

/** The library's sentence has the files and numbers; in other languages, a plain phrase comes before it. */
function findingRow({ name, message, fixed }: IndexFinding): VNode {
  return (
    <li key={name}>
      {language.value !== "en" && `${named("health.found", name)} · `}
      <span lang="en">{[message, fixed].filter(Boolean).join("; ")}</span>
    </li>
  );
}
