import type { VNode } from "preact";
import type { AgentAnswer } from "../../../src/api/search.ts";
import { CopyButton } from "../../parts/copy-button.tsx";
import { Failed, Loading } from "../../parts/states.tsx";
import { pathWith } from "../../state/ask.ts";
import { useAnswer } from "../../state/use-answer.ts";
import { t } from "../../words/words.ts";

export function AgentPanel({ asked }: { asked: string }): VNode {
  const { data, error } = useAnswer<AgentAnswer>(
    asked === "" ? undefined : pathWith("/api/search/agent", { q: asked }),
  );
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
