import type { VNode } from "preact";
import type { TranscriptShown } from "@memslot/agent-kit";
import type { TranscriptAnswer, TranscriptFactsAnswer } from "../../../src/api-types.ts";
import { Failed, Loading } from "../../components/common-components.tsx";
import { pathWith } from "../../state/api-client.ts";
import { useQuery } from "../../state/queries.ts";
import { goWith, query } from "../../state/page-address.ts";
import { bytes, t, when } from "../../words/translate.ts";
import { citationIn, noteHref } from "../notes/note-addresses.ts";

/** One conversation in pages, with its totals. */
export function TranscriptPane({ path }: { path: string }): VNode {
  const [from, before] = [query.value.get("from"), query.value.get("before")];
  const asked = { path, from: from ?? undefined, before: before ?? undefined };
  const { data, error } = useQuery<TranscriptAnswer>(pathWith("/api/sessions/read", asked), { keep: true });
  const goTo = (place: { from?: number; before?: number }): void =>
    goWith({ from: place.from?.toString(), before: place.before?.toString() });
  if (error) return <Failed error={error} />;
  if (data === undefined) return <Loading />;
  const { entries, start, end, bytes: size, broken } = data;
  return (
    <section aria-label={path}>
      <h2 class="mono">{path}</h2>
      <p>
        <a href="/sessions">{t("sessions.back")}</a>
      </p>
      <Facts path={path} />
      <nav class="row" aria-label={t("sessions.parts")}>
        <button type="button" disabled={start === 0} onClick={() => goTo({})}>
          {t("sessions.first")}
        </button>
        <button type="button" disabled={start === 0} onClick={() => goTo({ before: start })}>
          {t("sessions.earlier")}
        </button>
        <button type="button" disabled={end >= size} onClick={() => goTo({ from: end })}>
          {t("sessions.later")}
        </button>
        <button type="button" disabled={end >= size} onClick={() => goTo({ before: size })}>
          {t("sessions.last")}
        </button>
        <span class="faint">{t("common.of", { part: `${bytes(start)} – ${bytes(end)}`, all: bytes(size) })}</span>
      </nav>
      {broken > 0 && <p class="warn">{t("sessions.broken", { count: broken })}</p>}
      {entries.length === 0 && <p class="faint">{t("sessions.nothing")}</p>}
      <ol class="transcript">
        {entries.map((entry) => (
          <TranscriptLine key={entry.start} entry={entry} />
        ))}
      </ol>
    </section>
  );
}

/** Compactions and searches. Loads later, as a long transcript takes a while to read. */
function Facts({ path }: { path: string }): VNode | null {
  const { data, error } = useQuery<TranscriptFactsAnswer>(pathWith("/api/sessions/facts", { path }));
  if (error) return <Failed error={error} />;
  if (data === undefined) return <Loading />;
  const { messages, results, compactions, compactionCount, recalls, recallCount } = data;
  return (
    <>
      <p class="faint">
        {t("sessions.messages", { count: messages })} · {t("sessions.results", { count: results })}
      </p>
      {compactionCount > 0 && (
        <details class="card">
          <summary>{t("sessions.compactions", { count: compactionCount })}</summary>
          <ul>
            {compactions.map(({ start, at, dropped, fates, text }) => (
              <li key={start}>
                <a href={transcriptHref(path, start)}>{at === undefined ? t("sessions.there") : when(at)}</a>{" "}
                {t("sessions.dropped", { count: dropped })}
                {(["saved", "digest", "waiting", "kept"] as const).map((fate) =>
                  fates[fate] === undefined ? null : (
                    <span key={fate}>
                      {" "}
                      · {t(`sessions.state.${fate}`)}: {fates[fate]}
                    </span>
                  ),
                )}
                <p class="said">{text}</p>
              </li>
            ))}
          </ul>
        </details>
      )}
      {recallCount > 0 && (
        <details class="card">
          <summary>{t("sessions.recalls", { count: recallCount })}</summary>
          <ul>
            {recalls.map(({ start, tool, question, results: found, resultCount, said }) => (
              <li key={`${start} ${question}`}>
                <a href={transcriptHref(path, start)}>{question}</a> <span class="faint mono">{tool}</span>{" "}
                {resultCount !== undefined && t("sessions.found", { count: resultCount })}{" "}
                {found && <Cited places={found} />}
                {said !== undefined && <span class="faint">{said}</span>}
              </li>
            ))}
          </ul>
        </details>
      )}
    </>
  );
}

/** One entry of a transcript as plain text, never as Markdown. */
function TranscriptLine({ entry }: { entry: TranscriptShown }): VNode {
  const { at, text, characters } = entry;
  const who =
    entry.kind === "message"
      ? t(`sessions.role.${entry.role}`)
      : entry.kind === "result"
        ? t("sessions.role.tool", { tool: entry.tool })
        : t("sessions.role.compaction");
  const kind = entry.kind === "message" ? entry.role : entry.kind;
  return (
    <li class={`said-by ${kind}`}>
      <p class="faint">
        <strong>{who}</strong> {at !== undefined && when(at, { dateStyle: "medium", timeStyle: "medium" })}
      </p>
      {text !== "" && <p class="said">{text}</p>}
      {characters !== undefined && <p class="faint">{t("sessions.longer", { count: characters })}</p>}
      {entry.kind === "message" &&
        entry.toolCalls?.map(({ name, arguments: given }, place) => (
          <p key={place} class="said mono">
            → {name} {given}
          </p>
        ))}
    </li>
  );
}

/** The address of a transcript, at the line with this first byte. */
export function transcriptHref(path: string, from?: number): string {
  return pathWith("/sessions", { file: path, from });
}

/** The address of a citation; undefined if it is none. */
function citedHref(citation: string): string | undefined {
  const { path, line } = citationIn(citation) ?? {};
  if (path === undefined || /^(?:sessions|journal)\//u.test(path)) return undefined;
  return noteHref(path, { line });
}

export function Cited({ places }: { places: readonly string[] }): VNode {
  return (
    <>
      {places.map((place, index) => {
        const href = citedHref(place);
        return (
          <span key={place}>
            {index > 0 && ", "}
            {href === undefined ? place : <a href={href}>{place}</a>}
          </span>
        );
      })}
    </>
  );
}
