import type { ListedTranscript } from "@memslot/agent-kit";
import type { VNode } from "preact";
import type { DayAnswer, TimeAnswer } from "../../../src/api-types.ts";
import { Empty, IconButton, Loading } from "../../components/common-components.tsx";
import { useShortcuts } from "../../components/shortcuts.ts";
import { pathWith } from "../../state/api-client.ts";
import { useQuery } from "../../state/queries.ts";
import { goWith, query } from "../../state/page-address.ts";
import { t, when, type WordName } from "../../words/translate.ts";
import { changeRow, Log, noteRow, type Row, Rows } from "../home/day-content.tsx";
import { transcriptHref } from "../sessions/transcript-pane.tsx";
import { moved, movedMonths } from "./calendar-math.ts";
import { Year } from "./year.tsx";

import "./time.css";

/** The year and the content of a chosen day beside its neighbours. */
export default function TimeView(): VNode {
  const { data, error } = useQuery<TimeAnswer>("/api/time");
  const today = data?.today;
  const asked = query.value.get("day") ?? "";
  const isDay = /^\d{4}-\d\d-\d\d$/u.test(asked) && !Number.isNaN(Date.parse(asked));
  const chosen = isDay ? asked : today;
  // No day is after today, unless a note says so.
  const first = chosen && moved(chosen, chosen === today ? -2 : -1);
  const columns = useQuery<DayAnswer[]>(first && pathWith("/api/time/days", { from: first }), { keep: true });
  const step = (days: number) => (): void => void (chosen && goWith({ day: moved(chosen, days) }));
  useShortcuts([
    { keys: "[", label: "time.dayBefore", run: step(-1) },
    { keys: "]", label: "time.dayAfter", run: step(1) },
  ]);
  if (data === undefined || chosen === undefined) return <Loading error={error} />;
  if (data.days.length === 0)
    return (
      <Empty title={t("time.empty.title")} icon="calendar-days">
        <p>{t(data.isListed ? "time.empty.text" : "time.untold")}</p>
      </Empty>
    );
  const goYears = (years: number) => (): void => goWith({ day: movedMonths(chosen, 12 * years) });
  return (
    <>
      <header class="row time-bar">
        <h1 class="grow">{t("time.title")}</h1>
        <nav class="row" aria-label={t("time.title")}>
          <IconButton icon="chevron-left" label={t("time.dayBefore")} onClick={step(-1)} />
          <button type="button" disabled={chosen === today} onClick={() => goWith({ day: undefined })}>
            {t("time.today")}
          </button>
          <IconButton icon="chevron-right" label={t("time.dayAfter")} onClick={step(1)} />
          <IconButton icon="chevron-left" label={t("time.yearBefore")} onClick={goYears(-1)} />
          <strong aria-live="polite">{chosen.slice(0, 4)}</strong>
          <IconButton icon="chevron-right" label={t("time.yearAfter")} onClick={goYears(1)} />
        </nav>
      </header>
      <Year chosen={chosen} today={data.today} days={data.days} />
      <p class="faint small">
        {data.undated > 0 && t("time.undated", { count: data.undated })}{" "}
        {data.left > 0 && t("sessions.left", { count: data.left })}
      </p>
      <div class="days">
        {columns.data?.map((each) => <Day key={each.day} answer={each} isChosen={each.day === chosen} />) ?? (
          <Loading error={columns.error} lines={6} />
        )}
      </div>
    </>
  );
}

function Day({ answer, isChosen }: { answer: DayAnswer; isChosen: boolean }): VNode {
  const { day, logs, notes, noteCount, sessions, changes } = answer;
  const lists: [WordName, Row[]][] = [
    ["nav.changes", changes.map(changeRow)],
    ["time.sessions", sessions.map(sessionRow)],
    ["time.notes", notes.map(({ path, title }) => noteRow({ path, title }))],
  ];
  return (
    <section class={isChosen ? "chosen" : ""} aria-live={isChosen ? "polite" : "off"}>
      <h2>
        <a href={pathWith("/time", { day })} aria-current={isChosen ? "date" : undefined}>
          {when(day, { weekday: "short", day: "numeric", month: "long", timeZone: "UTC" })}
        </a>
      </h2>
      {[logs, ...lists.map(([, rows]) => rows)].flat().length === 0 && <p class="faint">{t("time.nothing")}</p>}
      {logs.map((log) => (
        <Log key={log.path} note={log} />
      ))}
      {lists.map(
        ([title, rows]) =>
          rows.length > 0 && (
            <div key={title}>
              <h3>{t(title)}</h3>
              <Rows rows={rows} />
            </div>
          ),
      )}
      {notes.length < noteCount && <p class="faint small">{t("sessions.left", { count: noteCount - notes.length })}</p>}
    </section>
  );
}

function sessionRow({ path, title, sessionKey, sessionId, from, to }: ListedTranscript): Row {
  const times = [from, to].map((at) => at && when(at, { timeStyle: "short" }));
  return {
    href: transcriptHref(path),
    icon: "messages-square",
    text: title ?? t("sessions.untitled"),
    title: sessionKey ?? sessionId,
    ends: [[...new Set(times)].join(" – ")],
  };
}
