import type { VNode } from "preact";
import type { SessionsAnswer } from "../../../src/api/sessions.ts";
import { Empty, Failed, Loading } from "../../parts/states.tsx";
import { status } from "../../state/events.ts";
import { query } from "../../state/place.ts";
import { useAnswer } from "../../state/use-answer.ts";
import { t } from "../../words/words.ts";
import { HandOverList } from "./hand-over-list.tsx";
import { JournalList } from "./journal-list.tsx";
import { TranscriptList } from "./transcript-list.tsx";
import { TranscriptPane } from "./transcript-pane.tsx";
import "./sessions.css";

/** The conversations of the agent, and their compacted messages. */
export default function SessionsView(): VNode {
  const { data, error } = useAnswer<SessionsAnswer>("/api/sessions", status.value?.lastSync?.finishedAt);
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
