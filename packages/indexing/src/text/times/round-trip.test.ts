import { describe, expect, test } from "vitest";
import { isoDate } from "./calendar.ts";
import { readTimes } from "./read-times.ts";
import { timeOfPath } from "./time-of-path.ts";
import { randomFrom } from "@memslot/test-tools/random";

const languages = ["en-US", "en-GB", "de-DE", "fr-FR", "es-ES", "pt-PT", "it-IT", "nl-NL", "ru-RU", "zh-CN"];
const now = new Date(2031, 5, 15);

/** Days of 1970 to 2030. */
function randomDays(count: number): Date[] {
  const random = randomFrom(11);
  return Array.from({ length: count }, () => new Date(Date.UTC(1970, 0, 1 + random.below(22_000))));
}

/** A day as people of a language write it, by the tables of the runtime and not by ours. */
function written(day: Date, language: string, month: "long" | "numeric"): string {
  return new Intl.DateTimeFormat(language, { day: "numeric", month, year: "numeric", timeZone: "UTC" }).format(day);
}

function inFigures(day: Date): string[] {
  const [year = "", month = "", date = ""] = day.toISOString().slice(0, 10).split("-");
  return [
    `${year}-${month}-${date}`,
    `${year}/${month}/${date}`,
    `${year}.${month}.${date}`,
    `${year}_${month}_${date}`,
    `${year}${month}${date}`,
    `${date}.${month}.${year}`,
    `${Number(date)}.${Number(month)}.${year}`,
    `${date}/${month}/${year}`,
    `${year}年${Number(month)}月${Number(date)}日`,
  ];
}

function readBack(text: string, dayFirst = true): string {
  return readTimes(text, { now, dayFirst })
    .periods.map(({ from, to, unit }) => `${unit} ${isoDate(from)} ${to - from}`)
    .join(" & ");
}

describe("a day reads back", () => {
  test("in figures", () => {
    for (const day of randomDays(60)) {
      for (const text of inFigures(day))
        expect(`${text}: ${readBack(text)}`).toBe(`${text}: day ${isoDate(day.getTime() / 86_400_000)} 0`);
    }
  });

  test.each(languages)("as it is written in %s", (language) => {
    for (const day of randomDays(60)) {
      const expected = `day ${day.toISOString().slice(0, 10)} 0`;
      const long = written(day, language, "long");
      expect(`${long}: ${readBack(long)}`).toBe(`${long}: ${expected}`);
      const short = written(day, language, "numeric");
      expect(`${short}: ${readBack(short, language !== "en-US")}`).toBe(`${short}: ${expected}`);
    }
  });

  test("within a question", () => {
    for (const day of randomDays(60)) {
      const expected = `day ${day.toISOString().slice(0, 10)} 0`;
      expect(readBack(`what did Anna say on ${written(day, "en-GB", "long")} about the heating?`)).toBe(expected);
      expect(readBack(`was war am ${written(day, "de-DE", "long")} mit der Heizung`)).toBe(expected);
      expect(readBack(`我们在${written(day, "zh-CN", "long")}决定了什么`)).toBe(expected);
    }
  });

  test("in the name of a file", () => {
    for (const day of randomDays(60)) {
      const [year, month, date] = day.toISOString().slice(0, 10).split("-");
      const names = [
        `${year}-${month}-${date}.md`,
        `memory/${year}-${month}-${date}-trip.md`,
        `journals/${year}_${month}_${date}.md`,
        `${year}/${month}/${date}.md`,
        `diary/${year}${month}${date}.md`,
        `日记/${year}年${Number(month)}月${Number(date)}日.md`,
        `${written(day, "en-US", "long").replace(/(\d+),/, "$1th,")}.md`,
      ];
      for (const name of names) {
        const number = day.getTime() / 86_400_000;
        expect([name, timeOfPath(name)]).toEqual([name, { from: number, to: number, unit: "day" }]);
      }
    }
  });
});
