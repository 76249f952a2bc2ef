import type { SearchWhy, WhyPlace } from "@memslot/core";
import type { VNode } from "preact";
import { useState } from "preact/hooks";
import type { WhyAnswer } from "../../../src/api/search.ts";
import { Failed, Loading } from "../../parts/states.tsx";
import { pathWith } from "../../state/ask.ts";
import { goWith, query } from "../../state/place.ts";
import { useAnswer } from "../../state/use-answer.ts";
import { t } from "../../words/words.ts";
import { ScoreBar } from "./score-bar.tsx";

const icons = { ok: "✓", note: "~", failed: "✗", unknown: "·" } as const;

/** "Why is something not here?": a field for the target, and the ladder from its file to the answer. */
export function WhyPanel({ asked }: { asked: Readonly<Record<string, string | undefined>> }): VNode {
  const target = query.value.get("why") ?? "";
  const [typed, setTyped] = useState(target);
  const isAsked = target !== "" && asked["q"] !== undefined;
  const { data, error, loading } = useAnswer<WhyAnswer>(
    isAsked ? pathWith("/api/search/why", { ...asked, target }) : undefined,
  );
  return (
    <details open={target !== ""} class="card">
      <summary>{t("search.why")}</summary>
      <form
        class="row"
        onSubmit={(event) => {
          event.preventDefault();
          goWith({ why: typed.trim() });
        }}
      >
        <label class="wide">
          {t("search.why.field")}
          <input value={typed} onInput={(event) => setTyped(event.currentTarget.value)} />
        </label>
        <button type="submit">{t("search.why.ask")}</button>
      </form>
      <div aria-live="polite">
        {error && <Failed error={error} />}
        {isAsked && loading && <Loading />}
        {data && (data.why === undefined ? <p>{t("search.why.cannot")}</p> : <Ladder why={data.why} />)}
      </div>
    </details>
  );
}

function Ladder({ why: { rungs, sentence, act, place, beatenBy } }: { why: SearchWhy }): VNode {
  const change = act && {
    ...(act.maxResults !== undefined && { max: String(act.maxResults) }),
    ...(act.maxTokens !== undefined && { tokens: String(act.maxTokens) }),
    ...(act.minScore !== undefined && { min: String(act.minScore) }),
  };
  return (
    <>
      <p class="sentence">
        <strong>{sentence}.</strong> {act?.says}{" "}
        {change && Object.keys(change).length > 0 && (
          <button type="button" onClick={() => goWith(change)}>
            {t("search.why.apply")}
          </button>
        )}
      </p>
      <ol class="ladder">
        {rungs.map(({ step, state, says }) => (
          <li key={step} class={`rung ${state}`}>
            <span aria-hidden="true">{icons[state]}</span> <strong>{t(`search.step.${step}`)}</strong>{" "}
            <span class="faint">({t(`search.state.${state}`)})</span>
            {state !== "unknown" && <span> {says}</span>}
          </li>
        ))}
      </ol>
      {place && <Placed title={t("search.why.this")} place={place} against={beatenBy} />}
      {beatenBy && <Placed title={t("search.why.beaten")} place={beatenBy} against={place} />}
    </>
  );
}

function Placed({ title, place, against }: { title: string; place: WhyPlace; against: WhyPlace | undefined }): VNode {
  return (
    <div>
      <p>
        {title}: {place.rank}. {place.score.toFixed(2)}{" "}
        <span class="mono">
          {place.path}:{place.startLine}
        </span>
      </p>
      <ScoreBar parts={place.parts} against={against?.parts} />
    </div>
  );
}
