import type { VNode } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import type { SearchReport } from "@memslot/core";
import type { NotesAnswer, SearchAnswer, AgentAnswer } from "../../../src/api-types.ts";
import { Empty, Failed, Loading, CopyButton } from "../../components/common-components.tsx";
import { pathWith, facts } from "../../state/api-client.ts";
import { useQuery } from "../../state/queries.ts";
import { status } from "../../state/server-events.ts";
import { go, goWith, query } from "../../state/page-address.ts";
import { t } from "../../words/translate.ts";
import { noteHref } from "../notes/note-addresses.ts";
import { ComparePanel } from "./compare-panel.tsx";
import { firstMatch, ResultCard } from "./result-card.tsx";
import { WhyPanel } from "./explanation-panel.tsx";
import { type FilterName, filterIn, filterNames, withFilter } from "./search-box-filters.ts";

import "./search.css";

/** Between two keyword searches while the user types; the first one does not wait. */
const betweenMs = 50;
/** After this pause the text is a query. Before that, or Enter, it is sent to no provider. */
const pauseMs = 350;
const tabs = ["results", "why", "compare", "agent"] as const;

/** The query, its results, and why. */
export default function SearchView(): VNode {
  const asked = query.value.get("q") ?? "";
  const tab = tabs.find((name) => name === query.value.get("tab")) ?? "results";
  const [settled, setSettled] = useState(asked);
  return (
    <>
      <h1 class="hidden">{t("search.title")}</h1>
      <Question asked={asked} onSettled={setSettled} />
      <div class="tabs" role="tablist">
        {tabs.map((name) => (
          <button
            key={name}
            type="button"
            role="tab"
            id={`tab-${name}`}
            aria-selected={name === tab}
            aria-controls="search-panel"
            onClick={() => goWith({ tab: name === "results" ? undefined : name })}
          >
            {t(`search.tab.${name}`)}
          </button>
        ))}
      </div>
      <div id="search-panel" role="tabpanel" aria-labelledby={`tab-${tab}`}>
        {tab === "results" && <Results asked={asked} typing={asked !== settled} />}
        {tab === "why" && <WhyPanel asked={settled} />}
        {tab === "compare" && <ComparePanel asked={asked} />}
        {tab === "agent" && <AgentPanel asked={settled} />}
      </div>
    </>
  );
}

/** The search field: searches while typing, with a minimum interval; the query is in the address. */
function Question({ asked, onSettled }: { asked: string; onSettled: (question: string) => void }): VNode {
  const [typed, setTyped] = useState(asked);
  const [isComposing, setComposing] = useState(false);
  const last = useRef(asked);
  const askedAt = useRef(0);
  const ask = (): void => {
    last.current = typed;
    askedAt.current = performance.now();
    const search = new URLSearchParams(query.value);
    if (typed === "") search.delete("q");
    else search.set("q", typed);
    go(search.size > 0 ? `/search?${search}` : "/search", { replace: true });
  };
  useEffect(() => {
    // Back, or a link.
    if (asked !== last.current) {
      setTyped(asked);
      onSettled(asked);
    }
    last.current = asked;
  }, [asked]);
  useEffect(() => {
    // An input method shows letters before it composes words.
    const pause = isComposing ? undefined : setTimeout(onSettled, pauseMs, typed);
    const wait = Math.max(0, askedAt.current + betweenMs - performance.now());
    const key = typed === last.current ? undefined : setTimeout(ask, wait);
    return () => {
      clearTimeout(pause);
      clearTimeout(key);
    };
  }, [typed, isComposing]);
  return (
    <search>
      <label class="question">
        <span class="hidden">{t("search.field")}</span>
        <input
          type="search"
          value={typed}
          placeholder={t("search.field")}
          aria-describedby="search-hint"
          onInput={(event) => setTyped(event.currentTarget.value)}
          onCompositionStart={() => setComposing(true)}
          onCompositionEnd={() => setComposing(false)}
          onKeyDown={(event) => {
            if (event.key !== "Enter" || event.isComposing) return;
            ask();
            onSettled(typed);
          }}
        />
      </label>
      <p id="search-hint" class="faint hint">
        {t("search.hint")}
      </p>
      <Filters query={typed} onQuery={setTyped} />
    </search>
  );
}

function Results({ asked, typing }: { asked: string; typing: boolean }): VNode {
  const limits = { max: query.value.get("max") ?? "", tokens: query.value.get("tokens") ?? "" };
  const path = asked.trim() === "" ? undefined : pathWith("/api/search", { q: asked, typing, ...limits });
  const { data, error, loading } = useQuery<SearchAnswer>(path, { keep: true });
  if (path === undefined) return <Begin />;
  if (error) return <Failed error={error} />;
  if (data === undefined) return <Loading />;
  const { results, report, ms } = data;
  return (
    <div aria-busy={loading}>
      <p class="faint" role="status">
        {results.length === 0 ? t("search.none") : t("search.count", { count: results.length, ms })}
      </p>
      <AnswerState report={report} shown={results.length} />
      {results.length === 0 && report.state === "ok" && (
        <p>
          {report.reason} {report.action}
        </p>
      )}
      {results.length > 0 && results[0]?.parts === undefined && <p class="faint">{t("search.noParts")}</p>}
      <ol class="results" onKeyDown={moveFocus}>
        {results.map((result, index) => (
          <ResultCard
            key={`${result.source} ${result.path} ${result.startLine} ${firstMatch(result)}`}
            result={result}
            place={index + 1}
          />
        ))}
      </ol>
    </div>
  );
}

/** Arrow keys move between results. */
function moveFocus(event: KeyboardEvent): void {
  const step = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
  const links = [...document.querySelectorAll<HTMLAnchorElement>(".result h2 a")];
  const next = links[links.indexOf(document.activeElement as HTMLAnchorElement) + step];
  if (step === 0 || next === undefined) return;
  event.preventDefault();
  next.focus();
}

/** Without a query: recent notes, or how to get some. */
function Begin(): VNode {
  const { data, error } = useQuery<NotesAnswer>("/api/notes");
  if (error) return <Failed error={error} />;
  if (data === undefined) return <Loading />;
  const files = data.list?.files ?? [];
  if (data.list !== undefined && files.length === 0)
    return (
      <Empty title={t("search.empty.title")}>
        <p>{t("search.empty.text", { folder: facts.value?.workspaceDir ?? "" })}</p>
      </Empty>
    );
  const named = files.filter(({ title }) => title !== undefined).slice(0, 5);
  const shown = named.length > 0 ? named : files.slice(0, 5);
  return (
    <>
      <p>{t("search.begin")}</p>
      <ul>
        {shown.map(({ path, title }) => (
          <li key={path}>
            <a href={pathWith("/search", { q: title ?? path })}>{title ?? path}</a>{" "}
            <a class="faint" href={noteHref(path)}>
              {path}
            </a>
          </li>
        ))}
      </ul>
    </>
  );
}

/** Fields for the filters in the query. */
export function Filters({ query, onQuery }: { query: string; onQuery: (query: string) => void }): VNode {
  const set = (name: FilterName) => (event: { currentTarget: { value: string } }) =>
    onQuery(withFilter(query, name, event.currentTarget.value));
  const sources = status.value?.sources ?? [];
  return (
    <details open={filterNames.some((name) => filterIn(query, name) !== "")}>
      <summary>{t("search.filters")}</summary>
      <div class="filters">
        <label>
          {t("search.filter.path")}
          <input type="text" value={filterIn(query, "path")} onChange={set("path")} />
        </label>
        <label>
          {t("search.filter.tag")}
          <input type="text" value={filterIn(query, "tag")} onChange={set("tag")} />
        </label>
        <label>
          {t("search.filter.after")}
          <input type="date" value={filterIn(query, "after")} onChange={set("after")} />
        </label>
        <label>
          {t("search.filter.before")}
          <input type="date" value={filterIn(query, "before")} onChange={set("before")} />
        </label>
        <label>
          {t("search.filter.source")}
          <select value={filterIn(query, "source")} onChange={set("source")}>
            <option value="">{t("search.filter.source.any")}</option>
            {sources.map((source) => (
              <option key={source} value={source}>
                {source}
              </option>
            ))}
          </select>
        </label>
      </div>
    </details>
  );
}

export function AgentPanel({ asked }: { asked: string }): VNode {
  const { data, error } = useQuery<AgentAnswer>(asked === "" ? undefined : pathWith("/api/search/agent", { q: asked }));
  if (error) return <Failed error={error} />;
  if (data === undefined) return asked === "" ? <p class="faint">{t("search.begin")}</p> : <Loading />;
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

const signs = { strong: "●", weak: "◐", none: "○" } as const;
const classes = { strong: "good", weak: "warn", none: "bad" } as const;

/** Confidence of the answer, and remarks. */
export function AnswerState({ report, shown }: { report: SearchReport; shown: number }): VNode {
  const { match, readings, state, reason, action, filters, found } = report;
  const left = found === undefined ? 0 : found.passages - shown;
  return (
    <div class="answer-state">
      {match && (
        <p class={classes[match.level]}>
          <span aria-hidden="true">{signs[match.level]}</span> {t(`search.match.${match.level}`)}
          {match.reason && <span class="faint"> · {match.reason}</span>}
        </p>
      )}
      {state !== "ok" && (
        <p class="warn">
          <span aria-hidden="true">▲</span> {t(`search.state.${state}`)}: {reason} {action}
        </p>
      )}
      {readings?.map(({ word, as }) => (
        <p key={word}>{t("search.read", { word, as })}</p>
      ))}
      {filters?.unread?.map((text) => (
        <p key={text}>{text}</p>
      ))}
      {filters && (filters.since ?? filters.until) !== undefined && (
        <p class="faint">
          {filters.since ?? "…"} – {filters.until ?? "…"}
        </p>
      )}
      {left > 0 && (
        <p class="faint">{t(found?.more === true ? "search.more.atLeast" : "search.more", { count: left })}</p>
      )}
    </div>
  );
}
