import type { TranscriptFacts, TranscriptPage, TranscriptShown } from "@memslot/agent-kit";
import type { ComponentChildren, VNode } from "preact";
import { useMemo, useRef, useState } from "preact/hooks";
import { IconButton, languageOf, Loading } from "../../components/common-components.tsx";
import { useShortcuts } from "../../components/shortcuts.ts";
import { VirtualList } from "../../components/virtual-list.tsx";
import { pathWith } from "../../state/api-client.ts";
import { useQuery } from "../../state/queries.ts";
import { goWith, query } from "../../state/page-address.ts";
import { bytes, t, when } from "../../words/translate.ts";
import { citationIn, noteHref } from "../notes/note-addresses.ts";

const rowPixels = 96;
const nowhere = { from: undefined, before: undefined, at: undefined };

/** One conversation, or a part of a large one, with its totals and a search. */
export function TranscriptPane({ path, title }: { path: string; title: string | undefined }): VNode {
  const { from, before, at, find: words = "" } = Object.fromEntries(query.value);
  const { data, error } = useQuery<TranscriptPage>(pathWith("/api/sessions/read", { path, from, before, at }), {
    keep: true,
  });
  const [hit, setHit] = useState(0);
  const entries = data?.entries ?? [];
  const pattern = words.trim() === "" ? undefined : new RegExp(`(${RegExp.escape(words.trim())})`, "iu");
  const hits = useMemo(
    () =>
      pattern ? entries.flatMap((each, index) => (textsOf(each).some((text) => pattern.test(text)) ? index : [])) : [],
    [data, words],
  );
  const field = useRef<HTMLInputElement>(null);
  useShortcuts([{ keys: "mod+f", label: "sessions.find", run: () => field.current?.focus() }]);
  if (data === undefined) return <Loading error={error} />;
  const { start, end, bytes: size, broken } = data;
  const place = Math.min(hit, hits.length - 1);
  const asked = at === undefined ? undefined : entries.findIndex((entry) => entry.start >= Number(at));
  const current = hits[place] ?? asked;
  const step = (steps: number): void => setHit((place + steps + hits.length) % Math.max(1, hits.length));
  return (
    <section class="conversation" aria-label={title ?? path}>
      <h1 class="line" title={path} lang={languageOf(title ?? "")}>
        {title ?? t("sessions.untitled")}
      </h1>
      <Facts path={path} />
      <p class="row find">
        <input
          ref={field}
          class="grow"
          type="search"
          aria-label={t("sessions.find")}
          placeholder={t("sessions.find")}
          value={words}
          onInput={({ currentTarget: { value } }) => {
            setHit(0);
            goWith({ find: value }, { replace: true });
          }}
          onKeyDown={({ key, shiftKey }) => {
            if (key === "Enter") step(shiftKey ? -1 : 1);
            // Not every browser clears the field by itself.
            else if (key === "Escape") goWith({ find: undefined }, { replace: true });
          }}
        />
        {pattern && (
          <>
            <span class="faint small" role="status">
              {hits.length === 0 ? t("sessions.findNone") : t("sessions.findAt", { part: place + 1, all: hits.length })}
            </span>
            <IconButton icon="chevron-left" label={t("sessions.findPrevious")} onClick={() => step(-1)} />
            <IconButton icon="chevron-right" label={t("sessions.findNext")} onClick={() => step(1)} />
          </>
        )}
      </p>
      {(start > 0 || end < size) && (
        <nav class="row" aria-label={t("sessions.parts")}>
          <button type="button" disabled={start === 0} onClick={() => goWith({ ...nowhere, before: String(start) })}>
            {t("sessions.earlier")}
          </button>
          <button type="button" disabled={end >= size} onClick={() => goWith({ ...nowhere, from: String(end) })}>
            {t("sessions.later")}
          </button>
          <span class="faint small">
            {t("common.of", { part: `${bytes(start)} – ${bytes(end)}`, all: bytes(size) })}
          </span>
        </nav>
      )}
      {broken > 0 && <p class="warn">{t("sessions.broken", { count: broken })}</p>}
      {entries.length === 0 && <p class="faint">{t("sessions.nothing")}</p>}
      <VirtualList
        class="transcript"
        tabIndex={0}
        aria-label={t("sessions.messages", { count: entries.length })}
        items={entries}
        keyOf={(entry) => entry.start}
        rowPixels={rowPixels}
        current={current}
        rowOf={(entry, index) => lineOf(entry, pattern, index === current)}
      />
    </section>
  );
}

/** What a search looks in. */
function textsOf(entry: TranscriptShown): string[] {
  const calls = entry.kind === "message" ? (entry.toolCalls ?? []) : [];
  return [entry.text, ...calls.map((call) => `${call.name} ${call.arguments}`)];
}

/** Plain text with the search terms marked, never Markdown or HTML. */
function marked(text: string, pattern: RegExp | undefined): ComponentChildren {
  if (pattern === undefined) return text;
  return text.split(pattern).map((part, index) => (index % 2 ? <mark key={index}>{part}</mark> : part));
}

const fatesOf = ["saved", "digest", "waiting", "kept"] as const;

/** Compactions and queries. Loads later, as a long transcript takes a while to read. */
function Facts({ path }: { path: string }): VNode | null {
  const { data, error } = useQuery<TranscriptFacts & { bytes: number }>(pathWith("/api/sessions/facts", { path }));
  if (data === undefined) return <Loading error={error} lines={1} />;
  const { messages, results, compactions, compactionCount, recalls, recallCount, from, to, bytes: size } = data;
  const facts = [
    [from, to].flatMap((at) => (at === undefined ? [] : when(at))).join(" – "),
    t("sessions.messages", { count: messages }),
    t("sessions.results", { count: results }),
    bytes(size),
  ].filter(Boolean);
  return (
    <>
      <p class="faint small">{facts.join(" · ")}</p>
      <details hidden={compactions.length === 0}>
        <summary>{t("sessions.compactions", { count: compactionCount })}</summary>
        <ul>
          {compactions.map(({ start, at, dropped, fates, text }) => (
            <li key={start}>
              <a href={transcriptHref(path, start)}>{at === undefined ? t("sessions.there") : when(at)}</a>{" "}
              {t("sessions.dropped", { count: dropped })}
              {fatesOf.map((fate) => fates[fate] && ` · ${t(`sessions.state.${fate}`)}: ${fates[fate]}`)}
              <p class="said">{text}</p>
            </li>
          ))}
        </ul>
      </details>
      <details hidden={recalls.length === 0}>
        <summary>{t("sessions.recalls", { count: recallCount })}</summary>
        <ul>
          {recalls.map(({ start, tool, question, results: found = [], resultCount, said }) => (
            <li key={`${start} ${question}`}>
              <a href={transcriptHref(path, start)}>{question}</a> <span class="faint mono">{tool}</span>{" "}
              {resultCount !== undefined && t("sessions.found", { count: resultCount })} <Cited places={found} />
              <span class="faint">{said}</span>
            </li>
          ))}
        </ul>
      </details>
    </>
  );
}

/** One entry of a transcript, with the search terms marked. */
function lineOf(entry: TranscriptShown, pattern: RegExp | undefined, isCurrent: boolean): VNode {
  const kind = entry.kind === "message" ? entry.role : entry.kind;
  const [text = "", ...calls] = textsOf(entry);
  return (
    <article class={`said-by ${kind}`} aria-current={isCurrent || undefined}>
      <p class="faint small">
        <strong>{t(`sessions.role.${kind}`, { tool: entry.kind === "result" ? entry.tool : "" })}</strong>{" "}
        {entry.at !== undefined && when(entry.at)}
      </p>
      {text !== "" && (
        <p class="said" lang={languageOf(text)}>
          {marked(text, pattern)}
        </p>
      )}
      {entry.characters !== undefined && <p class="faint small">{t("sessions.longer", { count: entry.characters })}</p>}
      {calls.map((call, place) => (
        <p key={place} class="said mono">
          → {marked(call, pattern)}
        </p>
      ))}
    </article>
  );
}

/** The address of a transcript, at the line with this first byte. */
export function transcriptHref(path: string, at?: number): string {
  return pathWith("/sessions", { file: path, at });
}

/** Places as a citation names them, those of notes as links. */
export function Cited({ places }: { places: readonly string[] }): VNode {
  return (
    <span class="cited">
      {places.map((place) => {
        const { path, line } = citationIn(place) ?? {};
        const isNote = path !== undefined && !/^(?:sessions|journal)\//u.test(path);
        return (
          <a key={place} {...(isNote && { href: noteHref(path, { line }) })}>
            {place}
          </a>
        );
      })}
    </span>
  );
}
