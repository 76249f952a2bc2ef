import type { ComponentChildren, VNode } from "preact";
import type { MemoryProviderStatus, IndexDetails } from "@memslot/core";
import type { HealthAnswer } from "../../../src/api-types.ts";
import { withCode } from "../../components/common-components.tsx";
import { bytes, formatted, isWord, sentence, t, when, money, type WordName } from "../../words/translate.ts";

const mostSyncs = 12;

export function Card({ title, children }: { title: WordName; children: ComponentChildren }): VNode {
  return (
    <section class="card">
      <h2>{t(title)}</h2>
      {children}
    </section>
  );
}

type Cells = readonly (string | undefined)[];

interface TableProps {
  head?: readonly WordName[];
  rows: readonly { cells: Cells; /** As a bar in the last column. */ size?: number }[];
}

/** Rows of text, with a bar beside each if they have sizes. */
function Table({ head, rows }: TableProps): VNode {
  const most = Math.max(1, ...rows.map(({ size = 0 }) => size));
  if (rows.length === 0) return <p class="faint">{t("health.none")}</p>;
  return (
    <table>
      {head && (
        <thead>
          <tr>
            {head.map((name) => (
              <th key={name}>{t(name)}</th>
            ))}
          </tr>
        </thead>
      )}
      <tbody>
        {rows.map(({ cells, size }) => (
          <tr key={cells.join(" ")}>
            {cells.map((cell, index) => (
              <td key={index}>{cell}</td>
            ))}
            {size !== undefined && (
              <td class="bar">
                <meter value={size} max={most} aria-label={cells[0]} />
              </td>
            )}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

/** Names and values; a row without a value is left out. */
function Facts({ rows }: { rows: readonly (readonly [WordName, string | undefined])[] }): VNode {
  return (
    <dl class="facts">
      {rows.map(([name, value]) => {
        if (value === undefined || value === "") return null;
        return [<dt key={name}>{t(name)}</dt>, <dd key={value}>{value}</dd>];
      })}
    </dl>
  );
}

function sourceName(source: string): string {
  const name = `source.${source}`;
  return isWord(name) ? t(name) : source;
}

function withReason(text: string, reason: string | undefined): string {
  return reason === undefined ? text : `${text} (${sentence(reason)})`;
}

/** Indexed files by source, the location of the index, and how changes are detected. */
export function IndexCard({ now }: { now: MemoryProviderStatus }): VNode {
  const { generation, storage, freshness, watch, lastSync } = now;
  const counts = [
    t("health.line.files", { count: now.files ?? 0 }),
    t("notes.passages", { count: now.chunks ?? 0 }),
    now.backend,
  ];
  const build = generation && [
    String(generation.id),
    generation.builtAt && t("health.builtAt", { when: when(generation.builtAt) }),
    generation.next && t("health.next", { files: generation.next.files }),
  ];
  return (
    <Card title="health.index">
      <p>{counts.join(" · ")}</p>
      <Table
        head={["health.source", "health.files", "health.chunks", "health.bytes"]}
        rows={(now.sourceCounts ?? []).flatMap(({ source, files, chunks, bytes: size }) => {
          return files === 0
            ? []
            : {
                cells: [sourceName(source), formatted(files), formatted(chunks), size === undefined ? "" : bytes(size)],
              };
        })}
      />
      <Facts
        rows={[
          ["health.place", now.dbPath],
          ["health.disk", storage && bytes(storage.databaseBytes + storage.walBytes)],
          ["health.generation", build?.filter(Boolean).join(" · ")],
          ["health.fresh", freshness && withReason(t(`health.by.${freshness.by}`), freshness.reason)],
          [
            "health.watch",
            watch && withReason(t(`health.watch.${watch.mode}`, { count: watch.folders ?? 0 }), watch.reason),
          ],
          ["health.sync", lastSync === undefined ? t("health.sync.never") : when(lastSync.finishedAt)],
        ]}
      />
    </Card>
  );
}

/** Vectors: their provider, number and problems. */
export function MeaningCard({ now, details }: { now: MemoryProviderStatus } & Pick<HealthAnswer, "details">): VNode {
  const { embedding, vector, provider, model } = now;
  const { budget, circuit, pending, quarantined = [], reason } = embedding ?? {};
  const spaces = details?.spaces.map((space) => {
    const size = t("health.space", { vectors: space.vectors, dimensions: space.dimensions });
    return [`${space.provider} ${space.model}`, size, space.inUse && t("health.inUse")].filter(Boolean).join(" · ");
  });
  return (
    <Card title="health.meaning">
      <Facts
        rows={[
          ["health.provider", provider],
          ["health.model", model],
          ["health.vectors", vector && formatted(vector.embedded ?? 0)],
          ["health.budget", budget && t("common.of", { part: budget.usedToday, all: budget.tokensPerDay })],
          ["health.spaces", spaces?.join("; ")],
        ]}
      />
      {reason !== undefined && <p class="faint">{withCode(sentence(reason))}</p>}
      {circuit && (
        <p class="warn">{t("health.circuit", { when: when(circuit.nextProbeAt), reason: circuit.reason })}</p>
      )}
      {pending && <p class="warn">{t("health.pending", { count: pending.chunks, reason: pending.reason })}</p>}
      {quarantined.length > 0 && (
        <>
          <h3>{t("health.quarantined")}</h3>
          <ul>
            {quarantined.map(({ path, startLine, endLine, reason: why }) => (
              <li key={`${path} ${startLine}`}>
                {path}:{startLine}-{endLine} {why}
              </li>
            ))}
          </ul>
        </>
      )}
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
    <Card title="health.history">
      <Table
        head={["health.history.when", "health.history.why", "health.history.what", "health.history.ms"]}
        rows={syncs.slice(0, mostSyncs).map(({ finishedAt, reason, error, durationMs, ...files }) => {
          const at = when(finishedAt, { dateStyle: "medium", timeStyle: "medium" });
          const cells = [at, reason, error ?? changedFiles(files), formatted(Math.round(durationMs))];
          return { cells };
        })}
      />
    </Card>
  );
}

/** Tokens sent to providers by day, and their cost if known. */
export function UsageCard({ usage, details }: Pick<HealthAnswer, "usage" | "details">): VNode {
  const { price } = details ?? {};
  return (
    <Card title="health.usage">
      <Table
        rows={usage.map(({ day, tokens, usd }) => {
          return { cells: [day, formatted(tokens), usd === undefined ? "" : money(usd)], size: tokens };
        })}
      />
      {price && <p class="faint">{t("health.price", { price: money(price.usdPerMillionTokens), day: price.asOf })}</p>}
    </Card>
  );
}
