import type { VNode } from "preact";
import type { DayAnswer } from "../../../src/api-types.ts";
import { Failed, Loading } from "../../components/common-components.tsx";
import { pathWith } from "../../state/api-client.ts";
import { useQuery } from "../../state/queries.ts";
import { bytes, t, when } from "../../words/translate.ts";
import { noteHref } from "../notes/note-addresses.ts";
import { transcriptHref } from "../sessions/transcript-pane.tsx";

/** The content of one day. */
export function DayPane({ day }: { day: string }): VNode {
  const { data, error } = useQuery<DayAnswer>(pathWith("/api/time/day", { day }));
  if (error) return <Failed error={error} />;
  if (data === undefined) return <Loading />;
  const { notes, spans, sessions, flushes } = data;
  const isEmpty = notes.length + spans.length + sessions.length + flushes.length === 0;
  const conversations = [
    ["time.sessions", sessions],
    ["time.flushes", flushes],
  ] as const;
  const lists = [
    ["time.notes", notes],
    ["time.spans", spans],
  ] as const;
  return (
    <section aria-live="polite">
      <h2>{when(`${day}T00:00:00`, { dateStyle: "full" })}</h2>
      {isEmpty && <p class="faint">{t("time.nothing")}</p>}
      {lists.map(([name, files]) =>
        files.length === 0 ? null : (
          <div key={name}>
            <h3>{t(name)}</h3>
            <ul>
              {files.map(({ path, title, bytes: size }) => (
                <li key={path}>
                  <a href={noteHref(path)}>{title ?? path}</a> <span class="faint">{bytes(size)}</span>
                </li>
              ))}
            </ul>
          </div>
        ),
      )}
      {conversations.map(([name, own]) =>
        own.length === 0 ? null : (
          <div key={name}>
            <h3>{t(name)}</h3>
            <ul>
              {own.map(({ path, sessionId, from, to }) => (
                <li key={path}>
                  <a href={transcriptHref(path)}>{sessionId}</a>{" "}
                  <span class="faint">
                    {when(from)} – {when(to)}
                  </span>
                </li>
              ))}
            </ul>
          </div>
        ),
      )}
    </section>
  );
}
