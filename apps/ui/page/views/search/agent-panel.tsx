import type { VNode } from "preact";
import type { AgentAnswer } from "../../../src/api/search.ts";
import { CopyButton } from "../../parts/copy-button.tsx";
import { Failed, Loading } from "../../parts/states.tsx";
import { pathWith } from "../../state/ask.ts";
import { goWith, query } from "../../state/place.ts";
import { useAnswer } from "../../state/use-answer.ts";
import { t } from "../../words/words.ts";

/** The exact text that the memory_search tool answers to the same query. */
export function AgentPanel({ q, revision }: { q: string; revision: unknown }): VNode {
  const isOpen = query.value.has("agent");
  const { data, error, loading } = useAnswer<AgentAnswer>(
    isOpen && q !== "" ? pathWith("/api/search/agent", { q }) : undefined,
    revision,
  );
  return (
    <details
      open={isOpen}
      class="card"
      onToggle={(event) => goWith({ agent: event.currentTarget.open ? "1" : undefined }, { replace: true })}
    >
      <summary>{t("search.agent")}</summary>
      {error && <Failed error={error} />}
      {isOpen && loading && data === undefined && <Loading />}
      {data && (
        <>
          <p class="row">
            {t("search.agent.tokens", { tokens: data.tokens })} <CopyButton text={data.text} />
          </p>
          <pre class="mono agent" tabIndex={0} aria-label={t("search.agent")}>
            {data.text}
          </pre>
        </>
      )}
    </details>
  );
}
