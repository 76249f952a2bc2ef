import type { ComponentChildren, VNode } from "preact";
import type { MemoryProviderStatus, IndexDetails } from "@memslot/core";
import type { HealthAnswer } from "../../../src/api-types.ts";
import { withCode } from "../../components/common-components.tsx";
import { bytes, formatted, named, said, t, when, money, type WordName } from "../../words/translate.ts";

const mostSyncs = 12;

interface CardProps {
  title: WordName;
  children?: ComponentChildren;
  head?: readonly WordName[];
  /** Without those that have no value in their second cell; no rows: "None". */
  rows?: readonly (readonly ComponentChildren[])[];
}

export function Card({ title, children, head = [], rows = [[]] }: CardProps): VNode {
  const filled = rows.filter(([, value]) => value);
  return (
    <section class="card">
      <h2>{t(title)}</h2>
      {children}
      {rows.length === 0 && <p class="faint">{t("health.none")}</p>}
      {filled.length > 0 && (
        <table>
          {head.length > 0 && (
            <tr>
              {head.map((name) => (
                <th key={name} scope="col">
                  {t(name)}
                </th>
              ))}
            </tr>
          )}
          {filled.map(([first, ...values], row) => (
            <tr key={row}>
              {head.length > 0 ? <td>{first}</td> : <th scope="row">{first}</th>}
              {values.map((value, index) => (
                <td key={index}>{value}</td>
              ))}
            </tr>
          ))}
        </table>
      )}
    </section>
  );
}

/** Indexed files by source, the location of the index, and how changes are detected. */
export function IndexCard({ now }: { now: MemoryProviderStatus }): VNode {
  const { files = 0, chunks = 0, storage, freshness, lastSync } = now;
  const { sourceCounts = [{ source: "memory", files, chunks }] } = now;
  const counts = sourceCounts.map(({ source, ...of }) => {
    const found = [t("health.line.files", { count: of.files }), t("notes.passages", { count: of.chunks })];
    return [named("source", source), of.files > 0 && found.join(" · ")];
  });
  return (
    <Card
      title="health.index"
      rows={[
        ...counts,
        [t("health.backend"), now.backend],
        [t("health.place"), now.dbPath],
        [t("health.disk"), storage && bytes(storage.databaseBytes + storage.walBytes)],
        [t("health.fresh"), freshness && t(`health.by.${freshness.by}`)],
        [t("health.sync"), lastSync === undefined ? t("health.sync.never") : when(lastSync.finishedAt)],
      ]}
    />
  );
}

/** Vectors: their provider, number and problems. */
export function MeaningCard({ now, details }: { now: MemoryProviderStatus } & Pick<HealthAnswer, "details">): VNode {
  const { budget, circuit, pending } = now.embedding ?? {};
  const spaces = details?.spaces.map(({ provider, model, vectors, dimensions, inUse }) =>
    [`${provider} ${model}`, t("health.space", { vectors, dimensions }), inUse && t("health.inUse")]
      .filter(Boolean)
      .join(" · "),
  );
  return (
    <Card
      title="health.meaning"
      rows={[
        [t("health.provider"), now.provider],
        [t("health.model"), now.model],
        [t("health.vectors"), now.vector && formatted(now.vector.embedded ?? 0)],
        [t("health.budget"), budget && t("common.of", { part: budget.usedToday, all: budget.tokensPerDay })],
        [t("health.spaces"), spaces?.join("; ")],
      ]}
    >
      {now.embedding && <p class="faint">{withCode(said(now.embedding))}</p>}
      {circuit && <p class="warn">{t("health.circuit", { when: when(circuit.nextProbeAt), reason: said(circuit) })}</p>}
      {pending && <p class="warn">{t("health.pending", { count: pending.chunks, reason: said(pending) })}</p>}
    </Card>
  );
}

const kinds = ["added", "changed", "removed", "failed"] as const;

/** Numbers of files that a sync has found changed, without zeros. */
export function changedFiles(of: Partial<Record<(typeof kinds)[number], number | undefined>>): string {
  const found = kinds.filter((kind) => of[kind]).map((kind) => t(`health.files.${kind}`, { count: of[kind] ?? 0 }));
  return found.join(" · ") || t("health.files.same");
}

/** The last syncs of all processes, newest first, with their durations. */
export function HistoryCard({ syncs }: Pick<IndexDetails, "syncs">): VNode {
  return (
    <Card
      title="health.history"
      head={["health.history.when", "health.history.why", "health.history.what", "health.history.ms"]}
      rows={syncs.slice(0, mostSyncs).map(({ finishedAt, reason, error, durationMs, ...files }) => {
        const found = [named("health.cause", reason), error ?? changedFiles(files)];
        return [when(finishedAt), ...found, formatted(Math.round(durationMs))];
      })}
    />
  );
}

/** Tokens sent to providers by day, with a bar for each, and their cost if known. */
export function UsageCard({ usage, details }: Pick<HealthAnswer, "usage" | "details">): VNode {
  const { price } = details ?? {};
  const max = Math.max(1, ...usage.map(({ tokens }) => tokens));
  return (
    <Card
      title="health.usage"
      rows={usage.map(({ day, tokens, usd }) => {
        const bar = <meter value={tokens} max={max} aria-label={day} />;
        return [day, formatted(tokens), usd !== undefined && money(usd), bar];
      })}
    >
      {price && <p class="faint">{t("health.price", { price: money(price.usdPerMillionTokens), day: price.asOf })}</p>}
    </Card>
  );
}
