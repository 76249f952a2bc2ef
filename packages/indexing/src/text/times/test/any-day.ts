import { expect } from "vitest";
import { randomFrom } from "@memslot/test-tools/random";
import { isoDate } from "../calendar.ts";
import { readTimes } from "../read-times.ts";
import { timeOfPath } from "../time-of-path.ts";

const languages = ["en-US", "en-GB", "de-DE", "fr-FR", "es-ES", "pt-PT", "it-IT", "nl-NL", "ru-RU", "zh-CN"];
const now = new Date(2031, 5, 15);

/** A day as people of a language write it, by the tables of the runtime and not by ours. */
function written(day: Date, language: string, month: "long" | "numeric"): string {
  return new Intl.DateTimeFormat(language, { day: "numeric", month, year: "numeric", timeZone: "UTC" }).format(day);
}

function readBack(text: string, dayFirst: boolean): string {
  return readTimes(text, { now, dayFirst })
    .periods.map(({ from, to, unit }) => `${unit} ${isoDate(from)} ${to - from}`)
    .join(" & ");
}

/** Days of 1970 to 2030 read back from figures, from each language, from a question and from the name of a file. */
export function expectDaysReadBack({ seed, days }: { seed: number; days: number }): void {
  const random = randomFrom(seed);
  for (let round = 0; round < days; round++) {
    const day = new Date(Date.UTC(1970, 0, 1 + random.below(22_000)));
    const iso = day.toISOString().slice(0, 10);
    const [year = "", month = "", date = ""] = iso.split("-");
    const chinese = `${year}年${Number(month)}月${Number(date)}日`;
    const [english, german] = [written(day, "en-GB", "long"), written(day, "de-DE", "long")];
    const texts = [
      ...["-", "/", ".", "_", ""].map((between) => [year, month, date].join(between)),
      ...[".", "/"].map((between) => [date, month, year].join(between)),
      `${Number(date)}.${Number(month)}.${year}`,
      chinese,
      ...languages.map((language) => written(day, language, "long")),
      ...languages.filter((language) => language !== "en-US").map((language) => written(day, language, "numeric")),
      `what did Anna say on ${english} about the heating?`,
      `was war am ${german} mit der Heizung`,
      `我们在${written(day, "zh-CN", "long")}决定了什么`,
    ];
    for (const text of texts) expect(`${text}: ${readBack(text, true)}`).toBe(`${text}: day ${iso} 0`);
    expect(readBack(written(day, "en-US", "numeric"), false)).toBe(`day ${iso} 0`);
    const number = day.getTime() / 86_400_000;
    for (const name of [
      `${iso}.md`,
      `memory/${iso}-trip.md`,
      `journals/${year}_${month}_${date}.md`,
      `${year}/${month}/${date}.md`,
      `diary/${year}${month}${date}.md`,
      `日记/${chinese}.md`,
      `${written(day, "en-US", "long").replace(/(\d+),/, "$1th,")}.md`,
    ])
      expect([name, timeOfPath(name)]).toEqual([name, { from: number, to: number, unit: "day" }]);
  }
}
