import type { VNode } from "preact";
import { useState } from "preact/hooks";
import type { WhyAnswer, WhyRung } from "../../../src/api/search.ts";
import { Failed, Loading } from "../../parts/states.tsx";
import { pathWith } from "../../state/ask.ts";
import { goWith, query } from "../../state/place.ts";
import { useAnswer } from "../../state/use-answer.ts";
import { t } from "../../words/words.ts";
import { noteHref } from "../notes/note-places.ts";
import { PartsBar } from "./parts-bar.tsx";

/** Says of one note or line why it is not among the results. */
export function WhyPanel({ asked }: { asked: string }): VNode {
  const target = query.value.get("target") ?? "";
  const [typed, setTyped] = useState(target);
  const { data, error, loading } = useAnswer<WhyAnswer>(
    target === "" || asked === ""
      ? undefined
      : pathWith("/api/search/why", { q: asked, target, max: query.value.get("max") ?? "" }),
  );
  return (
    <section>
      <form
        class="row"
        onSubmit={(event) => {
          event.preventDefault();
          goWith({ target: typed });
        }}
      >
        <label class="grow">
          {t("why.field")}
          <input type="text" value={typed} onInput={(event) => setTyped(event.currentTarget.value)} />
        </label>
        <button type="submit" class="main">
          {t("why.ask")}
        </button>
      </form>
      <div aria-live="polite">
        {target === "" && <p class="faint">{t("why.begin")}</p>}
        {loading && <Loading />}
        {error && <Failed error={error} />}
        {!loading && data && <Ladder answer={data} />}
      </div>
    </section>
  );
}

function Ladder({ answer: { path, isThere, rungs, beatenBy } }: { answer: WhyAnswer }): VNode {
  const rank = rungs.find((rung) => rung.name === "rank");
  const max = Number(query.value.get("max") ?? 12);
  return (
    <>
      {path !== undefined && (
        <p>
          <a href={noteHref(path)}>{path}</a>
        </p>
      )}
      {isThere && rank?.name === "rank" && <p class="good">{t("why.there", { rank: rank.rank ?? 1 })}</p>}
      <ol class="ladder">
        {rungs.map((rung) => (
          <li key={rung.name} class={rung.state}>
            <strong>
              <span aria-hidden="true">{rung.state === "failed" ? "✕" : rung.state === "passed" ? "✓" : "–"}</span>{" "}
              {t(`why.${rung.name}`)}
            </strong>
            <p>{said(rung)}</p>
            {rung.name === "score" && rung.parts && <PartsBar parts={rung.parts} />}
          </li>
        ))}
      </ol>
      {rank?.name === "rank" && rank.state === "failed" && (
        <button
          type="button"
          onClick={() => goWith({ max: String(Math.min(200, Math.max(max * 2, (rank.rank ?? 0) + 1))) })}
        >
          {t("why.show")}
        </button>
      )}
      {beatenBy && (
        <div class="card">
          <p>
            {t("why.beaten")}{" "}
            <a href={noteHref(beatenBy.path, { line: String(beatenBy.startLine) })}>
              {beatenBy.path}:{beatenBy.startLine}
            </a>{" "}
            {beatenBy.score.toFixed(2)}
          </p>
          {beatenBy.parts && <PartsBar parts={beatenBy.parts} />}
        </div>
      )}
    </>
  );
}

function said(rung: WhyRung): string {
  switch (rung.name) {
    case "file":
      return rung.state === "failed" ? t(`why.file.${rung.reason ?? "unknown"}`, { detail: rung.detail ?? "" }) : "";
    case "line":
      if (rung.state === "failed") return t("why.line.failed", { line: rung.line ?? "" });
      return rung.passage === undefined ? "" : t("why.line.at", { from: rung.passage[0], to: rung.passage[1] });
    case "words": {
      if (rung.held.length === 0) return t(rung.state === "failed" ? "why.words.failed" : "why.words.open");
      const missing = rung.missing.length === 0 ? "" : t("why.words.missing", { words: rung.missing.join(", ") });
      return [t("why.words.held", { words: rung.held.join(", ") }), missing].filter(Boolean).join(" · ");
    }
    case "filters":
      return rung.state === "failed" ? t("why.filters.failed") : "";
    case "score":
      return rung.state === "failed" ? t("why.score.failed") : (rung.score?.toFixed(2) ?? "");
    case "rank":
      if (rung.cut === undefined) return "";
      return t(`why.rank.${rung.cut}`, { rank: rung.rank ?? 0, of: rung.of, shown: rung.shown });
  }
}
