import type { VNode } from "preact";
import type { SearchWhy, WhyPlace } from "@memslot/core";
import { Loading, withCode } from "../../components/common-components.tsx";
import { useQuery } from "../../state/queries.ts";
import { goWith, query } from "../../state/page-address.ts";
import { said, t } from "../../words/translate.ts";
import { noteHref } from "../notes/note-addresses.ts";
import { Parts } from "./result-card.tsx";
import { searchPath } from "./questions.ts";

/** Why a note or line is not among the results, or its place in them. */
export function WhyPanel({ asked }: { asked: string }): VNode {
  const target = query.value.get("target") ?? "";
  const path = target === "" || asked === "" ? undefined : searchPath("/api/search/why", { q: asked, target });
  const { data, error } = useQuery<SearchWhy | null>(path);
  return (
    <section>
      <form
        class="row"
        onSubmit={(event) => {
          event.preventDefault();
          goWith({ target: String(new FormData(event.currentTarget).get("target")) });
        }}
      >
        <label class="grow">
          {t("why.field")}
          <input type="text" name="target" defaultValue={target} />
        </label>
        <button type="submit" class="main">
          {t("why.ask")}
        </button>
      </form>
      <div aria-live="polite">
        {target === "" && <p class="faint">{t("why.begin")}</p>}
        {path !== undefined && data === undefined && <Loading error={error} />}
        {data === null && <p>{t("why.cannot")}</p>}
        {data && <Ladder why={data} />}
      </div>
    </section>
  );
}

function Ladder({ why }: { why: SearchWhy }): VNode {
  const { found, rungs, sentence: reason, act, place, beatenBy } = why;
  const wider = Object.entries({ max: act?.maxResults, tokens: act?.maxTokens, min: act?.minScore }).flatMap(
    ([name, value]) => (value === undefined ? [] : [[name, String(value)]]),
  );
  return (
    <>
      <p class={found ? "good" : "bad"}>
        <strong>{withCode(said({ ...why, reason }))}</strong>
      </p>
      <p class="row">
        {withCode(said({ ...act, reason: act?.says }))}
        {wider.length > 0 && (
          <button type="button" onClick={() => goWith(Object.fromEntries(wider))}>
            {t("why.apply")}
          </button>
        )}
      </p>
      <ol class="ladder">
        {rungs.map(({ step, state, says, ...meaning }) => (
          <li key={step} class={state}>
            <strong>{t(`why.step.${step}`)}</strong> <span class="faint">({t(`why.state.${state}`)})</span>
            {state !== "unknown" && says !== reason && <p>{withCode(said({ ...meaning, reason: says }))}</p>}
          </li>
        ))}
      </ol>
      {place && <Placed title={t("why.this")} place={place} />}
      {beatenBy && <Placed title={t("why.beaten")} place={beatenBy} />}
    </>
  );
}

function Placed({ title, place: { path, startLine, rank, score, parts } }: { title: string; place: WhyPlace }): VNode {
  return (
    <div class="card">
      <p>
        {title}: {rank}.{" "}
        <a href={noteHref(path, { line: String(startLine) })}>
          {path}:{startLine}
        </a>{" "}
        {score.toFixed(2)}
      </p>
      <Parts parts={parts} />
    </div>
  );
}
