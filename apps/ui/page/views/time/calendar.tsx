import type { VNode } from "preact";
import { useEffect, useRef } from "preact/hooks";
import type { TimeDay } from "../../../src/api-types.ts";
import { goWith } from "../../state/page-address.ts";
import { localeName, t } from "../../words/translate.ts";
import { dayOf, firstDayIn, moved, partsOf, weeksOf } from "./calendar-math.ts";

const shades = 4;
const steps: Readonly<Record<string, number>> = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -7, ArrowDown: 7 };

/** One month as a grid with the amount of each day. Arrows move by a day, page up and down by a month. */
export function Calendar({
  year,
  month,
  chosen,
  today,
  days,
}: {
  year: number;
  month: number;
  chosen: string | undefined;
  today: string;
  days: ReadonlyMap<string, TimeDay>;
}): VNode {
  const grid = useRef<HTMLTableElement>(null);
  const moves = useRef(false);
  const isHere = (day: string): boolean => partsOf(day).year === year && partsOf(day).month === month;
  const focused = chosen !== undefined && isHere(chosen) ? chosen : isHere(today) ? today : dayOf(year, month, 1);
  useEffect(() => {
    if (moves.current) grid.current?.querySelector<HTMLElement>('[tabindex="0"]')?.focus();
    moves.current = false;
  }, [focused]);
  const most = Math.max(1, ...[...days.values()].map(({ lines }) => lines));
  const names = weeksOf(year, month, firstDayIn(localeName()))[0] ?? [];
  const weekday = new Intl.DateTimeFormat(localeName(), { weekday: "short", timeZone: "UTC" });
  const onKeyDown = (event: KeyboardEvent): void => {
    const step = steps[event.key];
    const { date } = partsOf(focused);
    const to =
      step !== undefined
        ? moved(focused, step)
        : event.key === "PageUp"
          ? dayOf(year, month - 1, date)
          : event.key === "PageDown"
            ? dayOf(year, month + 1, date)
            : undefined;
    if (to === undefined) return;
    event.preventDefault();
    moves.current = true;
    goWith({ day: to, month: to.slice(0, 7) }, { replace: true });
  };
  return (
    <table ref={grid} class="calendar" role="grid" aria-label={t("time.title")} onKeyDown={onKeyDown}>
      <thead>
        <tr>
          {names.map((day) => (
            <th key={day} scope="col">
              {weekday.format(new Date(`${day}T00:00:00Z`))}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {weeksOf(year, month, firstDayIn(localeName())).map((week) => (
          <tr key={week[0]}>
            {week.map((day) => (
              <td key={day} role="gridcell" aria-selected={day === chosen}>
                {isHere(day) && (
                  <Day
                    day={day}
                    facts={days.get(day)}
                    most={most}
                    isFocused={day === focused}
                    isToday={day === today}
                  />
                )}
              </td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function Day({
  day,
  facts,
  most,
  isFocused,
  isToday,
}: {
  day: string;
  facts: TimeDay | undefined;
  most: number;
  isFocused: boolean;
  isToday: boolean;
}): VNode {
  const { notes = 0, lines = 0, sessions = 0, flushes = 0 } = facts ?? {};
  const shade = lines === 0 ? 0 : Math.max(1, Math.ceil((Math.log1p(lines) / Math.log1p(most)) * shades));
  return (
    <button
      type="button"
      class={`day shade-${shade}${isToday ? " today" : ""}`}
      tabIndex={isFocused ? 0 : -1}
      aria-label={t("time.cell", { day, notes, lines, sessions, flushes })}
      onClick={() => goWith({ day, month: day.slice(0, 7) })}
    >
      <span>{partsOf(day).date}</span>
      <span class="day-facts" aria-hidden="true">
        {lines > 0 && lines}
        {sessions > 0 && <span> ◆{sessions}</span>}
        {flushes > 0 && <span> ▾{flushes}</span>}
      </span>
    </button>
  );
}
