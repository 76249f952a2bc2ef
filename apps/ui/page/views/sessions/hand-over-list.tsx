import type { VNode } from "preact";
import type { SessionsAnswer } from "../../../src/api/sessions.ts";
import { t, when } from "../../words/words.ts";
import { Cited } from "./cited.tsx";

interface HandOverProps extends Pick<SessionsAnswer, "handOvers" | "broken"> {
  count: number;
}

/** The latest ones are shown. */
const most = 50;

/** Compacted messages and their state. */
export function HandOverList({ handOvers, count, broken }: HandOverProps): VNode {
  const shown = handOvers.slice(0, most);
  return (
    <section>
      <h2>{t("sessions.flushes", { count })}</h2>
      {count === 0 && <p class="faint">{t("sessions.flushes.none")}</p>}
      {broken > 0 && <p class="warn">{t("sessions.flushes.broken", { count: broken })}</p>}
      <ul class="transcripts">
        {shown.map((each, place) => (
          <li key={place}>
            <strong class={each.state === "saved" ? "good" : "warn"}>{t(`sessions.state.${each.state}`)}</strong>{" "}
            {when(each.at)} · {t("sessions.messages", { count: each.messages })}
            <p class="faint mono">{each.sessionKey ?? each.sessionId}</p>
            {each.lastError !== undefined && (
              <p class="bad">{t("sessions.tries", { count: each.tries ?? 0, error: each.lastError })}</p>
            )}
            {(each.citations?.length ?? 0) > 0 && (
              <p>
                {t("sessions.written")} <Cited places={each.citations ?? []} />
              </p>
            )}
          </li>
        ))}
      </ul>
      {shown.length < count && <p class="faint">{t("sessions.left", { count: count - shown.length })}</p>}
    </section>
  );
}
