import type { ComponentChildren, VNode } from "preact";
import type { MemoryProviderStatus, IndexDetails } from "@memslot/core";
import { useState } from "preact/hooks";
import type { HealthAnswer, SearchAnswer } from "../../../src/api-types.ts";
import { bytes, formatted, sentence, t, when, money } from "../../words/translate.ts";
import { Failed } from "../../components/common-components.tsx";
import { pathWith } from "../../state/api-client.ts";
import { useQuery } from "../../state/queries.ts";

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
            {t(`health.by.${freshness.by}`)}{" "}
            {freshness.reason && <span class="faint">({sentence(freshness.reason)})</span>}
          </Fact>
        )}
        {watch && (
          <Fact name={t("health.watch")}>
            {t(`health.watch.${watch.mode}`, { count: watch.folders ?? 0 })}{" "}
            {watch.reason && <span class="faint">({sentence(watch.reason)})</span>}
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
      {embedding && <p class="faint">{sentence(embedding.reason)}</p>}
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

const few = 8;

/** The last syncs of all processes, newest first, with their durations. */
export function HistoryCard({ syncs }: Pick<IndexDetails, "syncs">): VNode {
  const [isWhole, setWhole] = useState(false);
  const longest = Math.max(1, ...syncs.map(({ durationMs }) => durationMs));
  return (
    <section class="card wide">
      <h2>{t("health.history")}</h2>
      {syncs.length === 0 && <p class="faint">{t("health.none")}</p>}
      {syncs.length > 0 && (
        <div class="scroll">
          <table>
            <thead>
              <tr>
                <th>{t("health.history.when")}</th>
                <th>{t("health.history.why")}</th>
                <th>{t("health.history.what")}</th>
                <th>{t("health.history.ms")}</th>
                <th class="bar">
                  <span class="hidden">{t("health.history.ms")}</span>
                </th>
              </tr>
            </thead>
            <tbody>
              {syncs.slice(0, isWhole ? syncs.length : few).map((sync) => (
                <tr key={`${sync.finishedAt} ${sync.reason}`}>
                  <td>{when(sync.finishedAt, { dateStyle: "medium", timeStyle: "medium" })}</td>
                  <td>{sync.reason}</td>
                  <td class={sync.error === undefined ? "" : "bad"}>{sync.error ?? filesOf(sync)}</td>
                  <td>{formatted(Math.round(sync.durationMs))}</td>
                  <td class="bar">
                    <meter value={sync.durationMs} max={longest} aria-label={sync.finishedAt} />
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
      {syncs.length > few && (
        <button type="button" class="quiet" aria-expanded={isWhole} onClick={() => setWhole(!isWhole)}>
          {t(isWhole ? "health.history.less" : "health.history.all", { count: syncs.length })}
        </button>
      )}
    </section>
  );
}

function filesOf({ added = 0, changed = 0, removed = 0, failed = 0 }: IndexDetails["syncs"][number]): string {
  return t("health.history.files", { added, changed, removed, failed });
}

/** Searches as in a session with a shared audience, and lists the missing results. */
export function SharedCard(): VNode {
  const [typed, setTyped] = useState("");
  const [asked, setAsked] = useState("");
  const none = asked === "" ? undefined : asked;
  const own = useQuery<SearchAnswer>(none && pathWith("/api/search", { q: asked }));
  const group = useQuery<SearchAnswer>(none && pathWith("/api/search", { q: asked, shared: true }));
  return (
    <section class="card">
      <h2>{t("health.shared")}</h2>
      <p>{t("health.shared.text")}</p>
      <form
        class="row"
        onSubmit={(event) => {
          event.preventDefault();
          setAsked(typed.trim());
        }}
      >
        <input
          type="text"
          aria-label={t("health.shared.ask")}
          value={typed}
          onInput={(event) => setTyped(event.currentTarget.value)}
        />
        <button type="submit">{t("health.shared.ask")}</button>
      </form>
      {group.error && <Failed error={group.error} />}
      {own.data && group.data && (
        <div role="status">
          <p>{t("health.shared.count", { count: group.data.results.length, own: own.data.results.length })}</p>
          <ul>
            {group.data.results.map(({ path, startLine }) => (
              <li key={`${path} ${startLine}`}>
                {path}:{startLine}
              </li>
            ))}
          </ul>
        </div>
      )}
    </section>
  );
}

/** Tokens sent to providers by day, and their cost if known. */
export function UsageCard({ usage, details }: Pick<HealthAnswer, "usage" | "details">): VNode {
  const most = Math.max(1, ...usage.map(({ tokens }) => tokens));
  const { price } = details ?? {};
  return (
    <section class="card">
      <h2>{t("health.usage")}</h2>
      {usage.length === 0 && <p class="faint">{t("health.none")}</p>}
      {usage.length > 0 && (
        <table>
          <tbody>
            {usage.map(({ day, tokens, usd }) => (
              <tr key={day}>
                <th scope="row">{day}</th>
                <td>{formatted(tokens)}</td>
                <td>{usd === undefined ? "" : money(usd)}</td>
                <td class="bar">
                  <meter value={tokens} max={most} aria-label={day} />
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
      {price && <p class="faint">{t("health.price", { price: money(price.usdPerMillionTokens), day: price.asOf })}</p>}
    </section>
  );
}
