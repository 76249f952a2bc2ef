import type { VNode } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import type { SearchReport } from "@memslot/core";
import type { FoundResult, SearchAnswer, AgentAnswer } from "../../../src/api-types.ts";
import { CopyButton, Icon, IconButton, Loading, Tabs, withCode } from "../../components/common-components.tsx";
import { moveByArrows, useFocusKeys, useShortcuts } from "../../components/shortcuts.ts";
import { pathWith } from "../../state/api-client.ts";
import { useNotes } from "../../state/notes-list.ts";
import { useQuery } from "../../state/queries.ts";
import { go, goWith, query } from "../../state/page-address.ts";
import { said, saidTogether, t } from "../../words/translate.ts";
import { NoNotes } from "../notes/no-notes.tsx";
import { WhyPanel } from "./explanation-panel.tsx";
import { isPinned, pin, questions, searchPath } from "./questions.ts";
import { bestLineNumber, ResultCard, resultHref } from "./result-card.tsx";
import { ResultPreview } from "./result-preview.tsx";
import { SearchField } from "./search-field.tsx";

import "./search.css";

const tabs = ["results", "why", "agent"] as const;
const mostResults = 200;
const mostTokens = 4000;
const field = ".question input";
const links = ".result h2 a";

/** The query, its results, and why. */
export default function SearchView(): VNode {
  const asked = query.value.get("q") ?? "";
  const tab = tabs.find((name) => name === query.value.get("tab")) ?? "results";
  const [settled, setSettled] = useState(asked);
  useShortcuts([
    { keys: "Escape", label: "keys.back", run: () => document.querySelector<HTMLElement>(field)?.focus() },
  ]);
  return (
    <>
      <h1 class="hidden">{t("search.title")}</h1>
      <SearchField asked={asked} onSettled={setSettled} />
      <Tabs
        id="search"
        names={tabs}
        open={tab}
        labelOf={(name) => t(`search.tab.${name}`)}
        onOpen={(name) => goWith({ tab: name === "results" ? undefined : name })}
      />
      <div id="search-panel" role="tabpanel" aria-labelledby={`search-${tab}`}>
        {tab === "results" && <Results asked={asked} typing={asked !== settled} />}
        {tab === "why" && <WhyPanel asked={settled} />}
        {tab === "agent" && <AgentPanel asked={settled} />}
      </div>
    </>
  );
}

function Results({ asked, typing }: { asked: string; typing: boolean }): VNode {
  const path = asked.trim() === "" ? undefined : searchPath("/api/search", { q: asked, typing });
  const { data, error, loading } = useQuery<SearchAnswer>(path, { keep: true });
  const files = useNotes().data?.byPath;
  const [chosen, choose] = useState(0);
  const previewed = useRef<FoundResult | undefined>(undefined);
  useLayoutEffect(() => choose(0), [asked]);
  useFocusKeys(links);
  useShortcuts([{ keys: "e", label: "keys.edit", run: () => edit(previewed.current) }]);
  if (path === undefined) return <Begin />;
  if (data === undefined) return <Loading error={error} lines={9} />;
  const { results, report } = data;
  const shown = results[Math.min(chosen, results.length - 1)];
  // The preview waits for a pause, so that it neither flickers nor delays the results of a key.
  if (!typing) previewed.current = shown;
  const { current: preview } = previewed;
  const isShared = query.value.get("shared") !== null;
  return (
    <div aria-busy={loading}>
      <div class="row answer-head">
        <p role="status">{results.length === 0 ? t("search.none") : t("search.count", { count: results.length })}</p>
        {report.match && <Match match={report.match} />}
        <PinButton text={asked} />
        <button
          type="button"
          class="quiet"
          aria-pressed={isShared}
          title={t("search.shared.text")}
          onClick={() => goWith({ shared: isShared ? undefined : "1" })}
        >
          {t("search.shared")}
        </button>
      </div>
      <AnswerState report={report} isEmpty={results.length === 0} />
      <div class="split results-split">
        <div class="list">
          <ol class="results plain" onKeyDown={(event) => moveByArrows(event, `${field}, ${links}`)}>
            {results.map((result, index) => (
              <ResultCard
                key={`${result.source} ${result.path} ${result.startLine} ${bestLineNumber(result)}`}
                result={result}
                file={files?.get(result.path)}
                isChosen={result === shown}
                onChoose={() => choose(index)}
              />
            ))}
          </ol>
          <More report={report} shown={results.length} />
        </div>
        {preview && <ResultPreview result={preview} />}
      </div>
    </div>
  );
}

/** Opens the note of a result in the editor, at its line. */
function edit(result: FoundResult | undefined): void {
  if (result?.source === "memory") go(`${resultHref(result)}&edit=1`);
}

/** Results that were found and are not listed. */
function More({ report: { dropped, found }, shown }: { report: SearchReport; shown: number }): VNode {
  const left = dropped.limit + (dropped.tokens ?? 0);
  const max = Math.min(mostResults, shown + left);
  return (
    <p class="row">
      {left > 0 && Number(query.value.get("max")) < max && (
        <button type="button" onClick={() => goWith({ max: String(max), tokens: String(mostTokens) })}>
          {t(found?.more === true ? "search.more.atLeast" : "search.more", { count: left })}
        </button>
      )}
      {dropped.minScore > 0 && query.value.get("min") !== "0" && (
        <button type="button" onClick={() => goWith({ min: "0" })}>
          {t("search.belowMinimum", { count: dropped.minScore })}
        </button>
      )}
    </p>
  );
}

/** Without a query: kept questions and what a query can contain, or how to get notes. */
function Begin(): VNode {
  if (useNotes().data?.fileCount === 0) return <NoNotes />;
  return (
    <>
      <p class="faint">{t("search.hint")}</p>
      <ul class="rows" aria-label={t("search.questions")}>
        {questions.value.map(({ text, isPinned: isKept }) => (
          <li key={text} class="row">
            <a class="grow" href={pathWith("/search", { q: text })}>
              <Icon name={isKept ? "pin" : "clock"} />
              <span class="line">{text}</span>
            </a>
            <PinButton text={text} />
          </li>
        ))}
      </ul>
    </>
  );
}

/** Keeps a query at the top of those of this browser, or no longer. */
function PinButton({ text }: { text: string }): VNode {
  const isKept = isPinned(text);
  const label = `${t(isKept ? "search.unpin" : "search.pin")}: ${text}`;
  return <IconButton icon={isKept ? "pin-off" : "pin"} label={label} onClick={() => pin(text, !isKept)} />;
}

function AgentPanel({ asked }: { asked: string }): VNode {
  const path = asked === "" ? undefined : pathWith("/api/search/agent", { q: asked });
  const { data, error } = useQuery<AgentAnswer>(path);
  if (data === undefined) return asked === "" ? <p class="faint">{t("search.field")}</p> : <Loading error={error} />;
  return (
    <section>
      <p class="row">
        {t("search.agent.tokens", { count: data.tokens })} <CopyButton text={data.text} />
      </p>
      <pre class="card agent-answer" tabIndex={0}>
        {data.text}
      </pre>
    </section>
  );
}

const kinds = { strong: "good", weak: "warn", none: "bad" } as const;

/** Confidence of the answer. */
function Match({ match }: { match: NonNullable<SearchReport["match"]> }): VNode {
  return (
    <p class={`grow sign ${kinds[match.level]}`}>
      {t(`search.match.${match.level}`)}
      {match.reason !== undefined && <span class="faint"> · {said(match)}</span>}
    </p>
  );
}

/** Conditions that limit the answer, and how the query was read. */
function AnswerState({ report, isEmpty }: { report: SearchReport; isEmpty: boolean }): VNode {
  const { readings = [], state, reasons = [], action, actions = [{ reason: action }] } = report;
  const why = t("search.because", { reason: saidTogether(reasons), action: actions.map(said).join(" ") });
  const { since, until, unreadReasons = [] } = report.filters ?? {};
  const read = [
    ...readings.map(({ word, as }) => t("search.read", { word, as })),
    ...unreadReasons.map(said),
    ...((since ?? until) === undefined ? [] : [`${since ?? "…"} – ${until ?? "…"}`]),
  ];
  return (
    <>
      {state !== "ok" && (
        <p class="warn">
          <Icon name="triangle-alert" /> {t(`search.state.${state}`)}: {withCode(why)}
        </p>
      )}
      {state === "ok" && isEmpty && <p>{withCode(why)}</p>}
      {read.map((sentence) => (
        <p key={sentence}>{sentence}</p>
      ))}
    </>
  );
}
