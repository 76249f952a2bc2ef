import type { VNode } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import type { ExamplesAnswer, SearchAnswer } from "../../../src/api/search.ts";
import { Empty, Failed } from "../../parts/states.tsx";
import { pathWith } from "../../state/ask.ts";
import { notesRevision, status } from "../../state/events.ts";
import { goWith, query } from "../../state/place.ts";
import { useAnswer } from "../../state/use-answer.ts";
import { t } from "../../words/words.ts";
import { AgentPanel } from "./agent-panel.tsx";
import { ComparePanel } from "./compare-panel.tsx";
import { FilterBar } from "./filter-bar.tsx";
import { ReportLine } from "./report-line.tsx";
import { ResultList } from "./result-list.tsx";
import "./search.css";
import { WhyPanel } from "./why-panel.tsx";

const typingMs = 120;

export default function SearchView(): VNode {
  const q = query.value.get("q") ?? "";
  const asked = {
    q: q.trim() === "" ? undefined : q,
    max: query.value.get("max") ?? undefined,
    tokens: query.value.get("tokens") ?? undefined,
    min: query.value.get("min") ?? undefined,
  };
  const revision = notesRevision.value;
  const path = asked.q === undefined ? undefined : pathWith("/api/search", asked);
  const { data, error } = useAnswer<SearchAnswer>(path, revision);
  return (
    <div class="search" onKeyDown={moveFocus}>
      <h1>{t("nav.search")}</h1>
      <QueryField q={q} />
      <FilterBar q={q} sources={status.value?.sources ?? []} />
      {asked.q === undefined ? <Examples revision={revision} /> : null}
      {error && <Failed error={error} />}
      {data && asked.q !== undefined && <Found answer={data} />}
      {asked.q !== undefined && (
        <>
          <WhyPanel asked={asked} />
          <ComparePanel asked={asked} now={data?.results ?? []} revision={revision} />
          <AgentPanel q={asked.q} revision={revision} />
        </>
      )}
    </div>
  );
}

/** Written into the address a moment after the last key, so that each word is asked once. */
function QueryField({ q }: { q: string }): VNode {
  const [typed, setTyped] = useState(q);
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  useEffect(() => {
    setTyped(q);
    return () => clearTimeout(timer.current);
  }, [q]);
  const write = (value: string, wait: number): void => {
    clearTimeout(timer.current);
    timer.current = setTimeout(() => goWith({ q: value, why: undefined }, { replace: true }), wait);
  };
  return (
    <form
      role="search"
      onSubmit={(event) => {
        event.preventDefault();
        write(typed, 0);
      }}
    >
      <label for="search-query">{t("search.field")}</label>
      <input
        id="search-query"
        type="search"
        autocomplete="off"
        aria-describedby="search-hint"
        value={typed}
        onInput={(event) => {
          setTyped(event.currentTarget.value);
          write(event.currentTarget.value, typingMs);
        }}
      />
      <p id="search-hint" class="faint">
        {t("search.hint")}
      </p>
    </form>
  );
}

function Found({ answer: { results, report, files } }: { answer: SearchAnswer }): VNode {
  const isEmpty = results.length === 0;
  return (
    <>
      <div aria-live="polite">
        {isEmpty ? (
          <Empty title={files === 0 ? t("search.noNotes.title") : t("search.none.title")}>
            <p>{files === 0 ? t("search.noNotes.text") : (report?.reason ?? t("search.none.text"))}</p>
          </Empty>
        ) : null}
        <ReportLine report={report} shown={results.length} />
      </div>
      {!isEmpty && results.every(({ parts }) => parts === undefined) && <p class="faint">{t("search.noParts")}</p>}
      <ResultList results={results} words={report?.filters?.words ?? query.value.get("q") ?? ""} />
    </>
  );
}

function Examples({ revision }: { revision: unknown }): VNode | null {
  const { data } = useAnswer<ExamplesAnswer>("/api/search/examples", revision);
  if (data === undefined) return null;
  if (data.files === 0)
    return (
      <Empty title={t("search.noNotes.title")}>
        <p>{t("search.noNotes.text")}</p>
      </Empty>
    );
  return (
    <section>
      <p>{t("search.try")}</p>
      <ul class="examples">
        {data.examples.map((example) => (
          <li key={example}>
            <button type="button" class="quiet" onClick={() => goWith({ q: example })}>
              {example}
            </button>
          </li>
        ))}
      </ul>
    </section>
  );
}

/** Arrow keys go from the field to the results and through them. */
function moveFocus(event: KeyboardEvent): void {
  if (event.key !== "ArrowDown" && event.key !== "ArrowUp") return;
  const { target } = event;
  if (!(target instanceof HTMLElement) || !target.matches("#search-query, .results a")) return;
  const stops = [...document.querySelectorAll<HTMLElement>("#search-query, .results a")];
  const next = stops[stops.indexOf(target) + (event.key === "ArrowDown" ? 1 : -1)];
  if (next === undefined) return;
  event.preventDefault();
  next.focus();
}
