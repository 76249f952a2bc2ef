import type { VNode } from "preact";
import { useState } from "preact/hooks";
import type { SearchAnswer } from "../../../src/api/search.ts";
import { Failed } from "../../parts/states.tsx";
import { pathWith } from "../../state/ask.ts";
import { useAnswer } from "../../state/use-answer.ts";
import { t } from "../../words/words.ts";

/** Searches as in a session with a shared audience, and lists the missing results. */
export function SharedCard(): VNode {
  const [typed, setTyped] = useState("");
  const [asked, setAsked] = useState("");
  const none = asked === "" ? undefined : asked;
  const own = useAnswer<SearchAnswer>(none && pathWith("/api/search", { q: asked }));
  const group = useAnswer<SearchAnswer>(none && pathWith("/api/search", { q: asked, shared: true }));
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
