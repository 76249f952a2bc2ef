import type { VNode } from "preact";
import type { SessionsAnswer } from "../../../src/api-types.ts";
import { Empty, Failed, Loading } from "../../components/common-components.tsx";
import { query } from "../../state/page-address.ts";
import { useQuery } from "../../state/queries.ts";
import { t, when, bytes } from "../../words/translate.ts";
import { TranscriptPane, transcriptHref, Cited } from "./transcript-pane.tsx";

import "./sessions.css";

/** The conversations of the agent, and their compacted messages. */
export default function SessionsView(): VNode {
  const { data, error } = useQuery<SessionsAnswer>("/api/sessions");
  const open = query.value.get("file") ?? undefined;
  if (error) return <Failed error={error} />;
  if (data === undefined) return <Loading />;
  if (open === undefined && data.count + data.handOverCount + data.journalCount === 0)
    return (
      <Empty title={t("sessions.empty.title")}>
        <p>{t("sessions.empty.text")}</p>
      </Empty>
    );
  return (
    <>
      <h1>{t("sessions.title")}</h1>
      <div class={open === undefined ? "sessions" : "sessions has-transcript"}>
        <aside>
          <TranscriptList transcripts={data.transcripts} count={data.count} open={open} />
          <HandOverList handOvers={data.handOvers} count={data.handOverCount} broken={data.broken} />
          <JournalList files={data.journal} count={data.journalCount} open={open} />
        </aside>
        <div class="transcript-place">
          {open === undefined ? <p class="faint">{t("sessions.choose")}</p> : <TranscriptPane path={open} key={open} />}
        </div>
      </div>
    </>
  );
}

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

interface JournalProps {
  files: SessionsAnswer["journal"];
  count: number;
  open: string | undefined;
}

/** Dropped messages in the journal. */
export function JournalList({ files, count, open }: JournalProps): VNode {
  return (
    <section>
      <h2>{t("sessions.journal", { count })}</h2>
      {count === 0 && <p class="faint">{t("sessions.none")}</p>}
      <ul class="transcripts">
        {files.slice(0, most).map(({ path, sessionId, from, to, bytes: size }) => (
          <li key={path}>
            <a href={transcriptHref(path)} aria-current={path === open ? "true" : undefined}>
              {when(from)} – {when(to)}
            </a>{" "}
            <span class="faint">{bytes(size)}</span>
            <p class="faint mono">{sessionId}</p>
          </li>
        ))}
      </ul>
      {count > most && <p class="faint">{t("sessions.left", { count: count - most })}</p>}
    </section>
  );
}

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
