import type { VNode } from "preact";
import { useEffect, useRef } from "preact/hooks";
import type { TimeAnswer, TimeDay } from "../../../src/api-types.ts";
import { goWith } from "../../state/page-address.ts";
import { t, when } from "../../words/translate.ts";
import { firstDayIn, moved, movedMonths, weeksOf } from "./calendar-math.ts";

/** The lowest amount of each step of colour. */
const steps = [0, 1, 5, 20, 80] as const;

/** Where weeks are rows, as on a phone; elsewhere they are columns. As in the styles. */
const rows = matchMedia("(max-width: 45rem), (pointer: coarse)");

/** The year of a day as weeks, with a colour for the amount of each day. Arrow keys move by a day or week, page keys by a month. */
export function Year({ chosen, today, days: known }: Pick<TimeAnswer, "today" | "days"> & { chosen: string }): VNode {
  const days = new Map(known.map((each) => [each.day, each]));
  const box = useRef<HTMLDivElement>(null);
  const isMoving = useRef(false);
  const year = chosen.slice(0, 4);
  useEffect(() => {
    const cell = box.current?.querySelector<HTMLElement>('button[tabindex="0"]');
    const week = cell?.closest<HTMLElement>('[role="row"]');
    if (!box.current || !week) return;
    box.current.scrollTop = week.offsetTop - box.current.clientHeight / 2;
    if (isMoving.current) cell?.focus({ preventScroll: true });
    isMoving.current = false;
  }, [chosen]);
  const onKeyDown = (event: KeyboardEvent): void => {
    const [across, down] = rows.matches ? [1, 7] : [7, 1];
    const to = {
      ArrowLeft: moved(chosen, -across),
      ArrowRight: moved(chosen, across),
      ArrowUp: moved(chosen, -down),
      ArrowDown: moved(chosen, down),
      PageUp: movedMonths(chosen, -1),
      PageDown: movedMonths(chosen, 1),
    }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    isMoving.current = true;
    goWith({ day: to }, { replace: true });
  };
  const weeks = weeksOf(year, firstDayIn(navigator.language));
  const titleOf = (day: string): string =>
    `${when(day, { dateStyle: "full", timeZone: "UTC" })}: ${amountText(days.get(day))}`;
  return (
    <>
      <div ref={box} class="year" role="grid" aria-label={year} onKeyDown={onKeyDown}>
        <div role="row">
          {weeks[0]?.map((day) => (
            <span key={day} role="columnheader" class="faint">
              {when(day, { weekday: "short", timeZone: "UTC" })}
            </span>
          ))}
        </div>
        {weeks.map((week) => (
          <div key={week[0]} role="row">
            {week.map((day) => (
              <div key={day} role="gridcell" aria-selected={day === chosen}>
                {day.startsWith(year) && (
                  <button
                    type="button"
                    class={`step-${stepOf(days.get(day))}${day === today ? " today" : ""}`}
                    tabIndex={day === chosen ? 0 : -1}
                    title={titleOf(day)}
                    aria-label={titleOf(day)}
                    onClick={() => goWith({ day })}
                  >
                    <span>{Number(day.slice(8))}</span>
                    {day.endsWith("-01") && (
                      <span class="faint month">{when(day, { month: "short", timeZone: "UTC" })}</span>
                    )}
                  </button>
                )}
              </div>
            ))}
          </div>
        ))}
      </div>
      <p class="faint small row legend">
        {t("time.legend")}
        {steps.map((least, step) => (
          <span key={least}>
            <i class={`step-${step}`} aria-hidden="true" /> {step === 0 ? least : `${least}+`}
          </span>
        ))}
      </p>
    </>
  );
}

function stepOf({ lines, changes, sessions }: TimeDay = { day: "", lines: 0, changes: 0, sessions: 0 }): number {
  return steps.findLastIndex((least) => lines + changes + sessions >= least);
}

function amountText(day: TimeDay | undefined): string {
  const parts = (["lines", "changes", "sessions"] as const).flatMap((name) => {
    const count = day?.[name] ?? 0;
    return count === 0 ? [] : t(`time.count.${name}`, { count });
  });
  return parts.length === 0 ? t("time.nothing") : parts.join(", ");
}
