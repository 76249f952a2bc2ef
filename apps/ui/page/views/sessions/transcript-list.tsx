import type { VNode } from "preact";
import type { SessionsAnswer } from "../../../src/api/sessions.ts";
import { bytes, t, when } from "../../words/words.ts";
import { transcriptHref } from "./transcript-places.ts";

interface ListProps extends Pick<SessionsAnswer, "transcripts" | "count"> {
  open: string | undefined;
}

export function TranscriptList({ transcripts, count, open }: ListProps): VNode {
  return (
    <section>
      <h2>{t("sessions.transcripts", { count })}</h2>
      {count === 0 && <p class="faint">{t("sessions.none")}</p>}
      <ul class="transcripts">
        {transcripts.map((each) => (
          <li key={each.path}>
            <a href={transcriptHref(each.path)} aria-current={each.path === open ? "true" : undefined}>
              {each.title ?? each.sessionId}
            </a>
            <p class="faint">
              {when(each.from)} – {when(each.to)} · {bytes(each.bytes)}
              {each.messages !== undefined && ` · ${t("sessions.messages", { count: each.messages })}`}
              {each.audience !== undefined && ` · ${t(`sessions.audience.${each.audience}`)}`}
              {each.isCurrent && ` · ${t("sessions.current")}`}
            </p>
            {each.sessionKey !== undefined && <p class="faint mono">{each.sessionKey}</p>}
          </li>
        ))}
      </ul>
      {transcripts.length < count && <p class="faint">{t("sessions.left", { count: count - transcripts.length })}</p>}
    </section>
  );
}
