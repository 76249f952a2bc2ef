import type { VNode } from "preact";
import { useState } from "preact/hooks";
import type { TimeAnswer } from "../../../src/api-types.ts";
import { Empty, Failed, Loading } from "../../components/common-components.tsx";
import { useShortcuts } from "../../components/shortcuts.ts";
import { pathWith, facts } from "../../state/api-client.ts";
import { useQuery } from "../../state/queries.ts";
import { goWith, query } from "../../state/page-address.ts";
import { localeName, t } from "../../words/translate.ts";
import { Calendar } from "./calendar.tsx";
import { DayPane } from "./day-pane.tsx";
import { dayOf, moved, partsOf } from "./calendar-math.ts";

import "./time.css";

/** The days with notes, conversations and flushes. */
export default function TimeView(): VNode {
  const { data, error } = useQuery<TimeAnswer>("/api/time");
  const today = facts.value?.today ?? "";
  const chosen = query.value.get("day") ?? undefined;
  const step = (days: number) => (): void => {
    const day = moved(chosen ?? today, days);
    goWith({ day, month: day.slice(0, 7) });
  };
  useShortcuts([
    { keys: "[", label: "time.dayBefore", run: step(-1) },
    { keys: "]", label: "time.dayAfter", run: step(1) },
  ]);
  if (error) return <Failed error={error} />;
  if (data === undefined) return <Loading />;
  const last = data.days.at(-1)?.day;
  const shown = query.value.get("month") ?? (chosen ?? last ?? today).slice(0, 7);
  const { year, month } = partsOf(`${shown}-01`);
  if (data.days.length === 0)
    return (
      <Empty title={t("time.empty.title")}>
        <p>{t(data.told ? "time.empty.text" : "time.untold")}</p>
      </Empty>
    );
  const days = new Map(data.days.map((each) => [each.day, each]));
  const name = new Intl.DateTimeFormat(localeName(), { month: "long", year: "numeric", timeZone: "UTC" });
  const goTo = (to: string): void => goWith({ month: to.slice(0, 7) });
  const left = data.left.notes + data.left.sessions + data.left.flushes;
  return (
    <>
      <h1>{t("time.title")}</h1>
      <div class="time">
        <div>
          <Years days={data.days} year={year} />
          <p class="row month">
            <button type="button" aria-label={t("time.before")} onClick={() => goTo(dayOf(year, month - 1, 1))}>
              ‹
            </button>
            <strong aria-live="polite">{name.format(new Date(Date.UTC(year, month, 1)))}</strong>
            <button type="button" aria-label={t("time.next")} onClick={() => goTo(dayOf(year, month + 1, 1))}>
              ›
            </button>
            <button type="button" onClick={() => goWith({ day: today, month: today.slice(0, 7) })}>
              {t("time.today")}
            </button>
          </p>
          <Calendar year={year} month={month} chosen={chosen} today={today} days={days} />
          {data.undated > 0 && <p class="faint">{t("time.undated", { count: data.undated })}</p>}
          {left > 0 && <p class="faint">{t("time.left", { count: left })}</p>}
          <Period />
        </div>
        {chosen === undefined ? <p class="faint">{t("time.choose")}</p> : <DayPane day={chosen} />}
      </div>
    </>
  );
}

/** The amount of each year; a click goes there. */
function Years({ days, year }: { days: TimeAnswer["days"]; year: number }): VNode {
  const years = Map.groupBy(days, ({ day }) => day.slice(0, 4));
  return (
    <nav class="row" aria-label={t("time.years")}>
      {[...years].map(([name, own]) => (
        <a
          key={name}
          href={pathWith("/time", { month: own.at(-1)?.day.slice(0, 7) })}
          aria-current={Number(name) === year ? "true" : undefined}
        >
          {name} <span class="faint">{own.length}</span>
        </a>
      ))}
    </nav>
  );
}

/** A date range for a search. */
function Period(): VNode {
  const [from, setFrom] = useState("");
  const [to, setTo] = useState("");
  const words = [from && `after:${from}`, to && `before:${moved(to, 1)}`].filter(Boolean).join(" ");
  return (
    <fieldset class="card period">
      <legend>{t("time.period")}</legend>
      <label>
        {t("time.from")} <input type="date" value={from} onInput={(event) => setFrom(event.currentTarget.value)} />
      </label>
      <label>
        {t("time.to")} <input type="date" value={to} onInput={(event) => setTo(event.currentTarget.value)} />
      </label>
      {words !== "" && (
        <a href={pathWith("/search", { q: words })}>
          {t("time.ask")}: <code>{words}</code>
        </a>
      )}
    </fieldset>
  );
}
