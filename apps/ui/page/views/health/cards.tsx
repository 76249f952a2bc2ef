import type { ComponentChildren, VNode } from "preact";
import type { HealthAnswer } from "../../../src/api/health.ts";
import type { MemoryProviderStatus } from "@memslot/core";
import { bytes, formatted, t, when } from "../../words/words.ts";

interface CardProps {
  now: MemoryProviderStatus;
}

function Fact({ name, children }: { name: string; children: ComponentChildren }): VNode {
  return (
    <>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </>
  );
}

/** What is indexed, by kind, and the location of the index. */
export function IndexCard({ now }: CardProps): VNode {
  const { generation, storage } = now;
  return (
    <section class="card">
      <h2>{t("health.index")}</h2>
      <p>
        {now.backend}: {formatted(now.files ?? 0)} / {formatted(now.chunks ?? 0)}
      </p>
      <div class="scroll">
        <table>
          <thead>
            <tr>
              <th>{t("health.source")}</th>
              <th>{t("health.files")}</th>
              <th>{t("health.chunks")}</th>
              <th>{t("health.bytes")}</th>
            </tr>
          </thead>
          <tbody>
            {now.sourceCounts?.map(({ source, files, chunks, bytes: size }) => (
              <tr key={source}>
                <td>{source}</td>
                <td>{formatted(files)}</td>
                <td>{formatted(chunks)}</td>
                <td>{size === undefined ? "" : bytes(size)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      <dl class="facts">
        {now.dbPath !== undefined && <Fact name={t("health.place")}>{now.dbPath}</Fact>}
        {storage && <Fact name={t("health.disk")}>{bytes(storage.databaseBytes + storage.walBytes)}</Fact>}
        {generation && (
          <Fact name={t("health.generation")}>
            {generation.id}{" "}
            {generation.builtAt !== undefined && t("health.builtAt", { when: when(generation.builtAt) })}{" "}
            {generation.next && t("health.next", { files: generation.next.files })}
          </Fact>
        )}
      </dl>
    </section>
  );
}

/** How changes are detected, and the result of the last sync. */
export function SyncCard({ now }: CardProps): VNode {
  const { freshness, watch, lastSync } = now;
  const { report } = lastSync ?? {};
  return (
    <section class="card">
      <h2>{t("health.fresh")}</h2>
      <dl class="facts">
        {freshness && (
          <Fact name={t("health.fresh")}>
            {t(`health.by.${freshness.by}`)} {freshness.reason && <span class="faint">({freshness.reason})</span>}
          </Fact>
        )}
        {watch && (
          <Fact name={t("health.watch")}>
            {t(`health.watch.${watch.mode}`, { count: watch.folders ?? 0 })}{" "}
            {watch.reason && <span class="faint">({watch.reason})</span>}
          </Fact>
        )}
        <Fact name={t("health.sync")}>
          {lastSync === undefined || report === undefined ? (
            t("health.sync.never")
          ) : (
            <>
              {when(lastSync.finishedAt)}
              <br />
              {t("health.sync.what", {
                added: report.added,
                changed: report.changed,
                removed: report.removed,
                unchanged: report.unchanged,
                failed: report.failed.length,
                ms: Math.round(lastSync.durationMs),
                reason: lastSync.reason,
              })}
            </>
          )}
        </Fact>
      </dl>
    </section>
  );
}

/** Vectors: their provider, number and problems. */
export function MeaningCard({ now, details }: CardProps & Pick<HealthAnswer, "details">): VNode {
  const { embedding, vector, provider, model } = now;
  return (
    <section class="card">
      <h2>{t("health.meaning")}</h2>
      <dl class="facts">
        <Fact name={t("health.provider")}>{provider}</Fact>
        {model !== undefined && <Fact name={t("health.model")}>{model}</Fact>}
        {vector && <Fact name={t("health.vectors")}>{formatted(vector.embedded ?? 0)}</Fact>}
        {embedding?.budget && (
          <Fact name={t("health.budget")}>
            {t("common.of", { part: embedding.budget.usedToday, all: embedding.budget.tokensPerDay })}
          </Fact>
        )}
      </dl>
      {details && details.spaces.length > 0 && (
        <ul>
          {details.spaces.map(({ provider: by, model: of, dimensions, vectors, inUse }) => (
            <li key={`${by} ${of} ${dimensions}`}>
              {by} {of}: {t("health.space", { vectors, dimensions })} {inUse && t("health.inUse")}
            </li>
          ))}
        </ul>
      )}
      {embedding && <p class="faint">{embedding.reason}</p>}
      {embedding?.circuit && (
        <p class="warn">
          {t("health.circuit", { when: when(embedding.circuit.nextProbeAt), reason: embedding.circuit.reason })}
        </p>
      )}
      {embedding?.pending && (
        <p class="warn">{t("health.pending", { count: embedding.pending.chunks, reason: embedding.pending.reason })}</p>
      )}
      {embedding?.quarantined && embedding.quarantined.length > 0 && (
        <>
          <h3>{t("health.quarantined")}</h3>
          <ul>
            {embedding.quarantined.map(({ path, startLine, endLine, reason }) => (
              <li key={`${path} ${startLine}`}>
                {path}:{startLine}-{endLine} {reason}
              </li>
            ))}
          </ul>
        </>
      )}
    </section>
  );
}
