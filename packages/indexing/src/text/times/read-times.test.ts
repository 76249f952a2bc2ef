import { readdirSync, readFileSync } from "node:fs";
import { describe, expect, test, vi } from "vitest";
import { isoDate } from "./calendar.ts";
import { daysInText, timeMatch, timeOfPath } from "./note-days.ts";
import { readTimes, type TimeReading } from "./read-times.ts";
import { expectDaysReadBack } from "../test/any-text.ts";
import { languages } from "../languages/all-languages.ts";
import tables from "./test/readings.json" with { type: "json" };
import path from "node:path";
import { groupsOf, namedPattern } from "./grammar.ts";

const now = new Date(2026, 2, 15, 12);

function table(name: string): string[][] {
  return readFileSync(new URL(`test/phrases/${name}.txt`, import.meta.url), "utf8")
    .split("\n")
    .filter((line) => line.trim() !== "" && !line.startsWith("# "))
    .map((line) => line.split("|").map((cell) => cell.trim()));
}

/** The periods that a query names, as `week 2026-03-02..2026-03-08`. */
function periodsOf(query: string, reading: Partial<TimeReading> = {}): string[] {
  return readTimes(query, { now, ...reading }).periods.map(
    ({ from, to, unit }) => `${unit} ${isoDate(from)}${to === from ? "" : `..${isoDate(to)}`}`,
  );
}

test.each(["english", "german", "french", "spanish", "portuguese", "italian", "dutch", "russian", "chinese"])(
  "all phrases in %s name their days",
  (language) => {
    const phrases = table(language);
    expect(phrases.length).toBeGreaterThan(20);
    const read = phrases.map(([query = ""]) => {
      const { periods, isOnlyTime, rest } = readTimes(query, { now });
      for (const { text, start, end } of periods) expect(query.slice(start, end)).toBe(text);
      return [query, periodsOf(query).join(" & "), ...(isOnlyTime ? [] : [rest])];
    });
    expect(read).toEqual(phrases);
  },
);

test("every language with dates has the words that English has", () => {
  const kinds = Object.values(languages).flatMap(({ dates }) => (dates ? [Object.keys(dates)] : []));
  const english = Object.keys(languages.en.dates ?? {}).filter((kind) => kind !== "doubts");
  expect(kinds.length).toBe(8);
  for (const own of kinds) expect(own).toEqual(expect.arrayContaining(english));
});

describe("what only looks like a time", () => {
  test("is left in the question", () => {
    const phrases = table("no-times").map(([query = ""]) => query);
    expect(phrases.length).toBeGreaterThan(190);
    const wrong = phrases.filter((query) => {
      const { periods, rest, isOnlyTime } = readTimes(query, { now });
      return periods.length > 0 || rest !== query || isOnlyTime;
    });
    expect(wrong).toEqual([]);
  });

  test.each(["2026-02-30", "the 31st of February 2026", "April 31, 2026", "13月5日", "2月30日", "31/02/2024"])(
    "%s is no day",
    (query) => {
      expect(periodsOf(query).filter((period) => period.startsWith("day"))).toEqual([]);
      expect(readTimes(query, { now }).noDays).toHaveLength(query === "13月5日" ? 0 : 1);
    },
  );

  test.each(tables.noDays as [string, string[]][])("%s names the days %j, which there are not", (query, noDays) => {
    expect(readTimes(query, { now }).noDays).toEqual(noDays);
  });
});

describe("several times in one question", () => {
  test("come in its order", () => {
    expect(periodsOf("what changed from last week: 2026-01-02 or 昨天?")).toEqual(tables.threePeriods);
  });

  test("the rest is the question without all of them", () => {
    const read = readTimes("was the budget of 2023 larger than the one in March 2024?", { now });
    expect(read.rest).toBe("was the budget larger than the one ?");
    expect(read.isOnlyTime).toBe(false);
  });
});

describe("what is asked beside a time", () => {
  test.each(tables.onlyTimes as [string, boolean][])("%s: nothing is %s", (query, expected) => {
    expect(readTimes(query, { now }).isOnlyTime).toBe(expected);
  });
});

test.each(tables.inFigures as [string, string][])("the day in figures %s is %s", (query, expected) => {
  expect(periodsOf(query)).toEqual([expected]);
});

describe("any text", () => {
  test.each([
    "9999-99-99",
    "0000-01-01",
    "9999-12-31",
    "年月日",
    "31/12",
    "-".repeat(10_000),
    "1 ".repeat(10_000),
    "may ".repeat(5000),
    "in the ".repeat(3000),
    "\u0301\ud83d yesterday \udc00",
  ])("is read: %#", (query) => {
    for (const { from, to, text, start, end } of readTimes(query, { now }).periods) {
      expect(to).toBeGreaterThanOrEqual(from);
      expect(query.slice(start, end)).toBe(text);
      expect(isoDate(from)).toMatch(/^\d{4}-/);
    }
  });

  test("is read the same in composed and decomposed letters and in full-width figures", () => {
    for (const query of ["12. März 2024", "la semaine dernière", "２０２４年３月５日"])
      expect(periodsOf(query.normalize("NFD"))).toEqual(periodsOf(query.normalize("NFKC")));
    expect(periodsOf("２０２４年３月５日")).toEqual(["day 2024-03-05"]);
    const decomposed = "was war am 12. März 2024 im Büro".normalize("NFD");
    const [period] = readTimes(decomposed, { now }).periods;
    expect(period?.text).toBe("12. März 2024".normalize("NFD"));
  });
});

test("a day reads back as it is written in figures, in ten languages, in questions and in names of files", () => {
  expectDaysReadBack({ seed: 11, days: 12 });
});

function days(...dates: string[]): number[] {
  return dates.map((date) => Date.parse(date) / 86_400_000).toSorted((a, b) => a - b);
}

describe("a year that is not named", () => {
  test("is the latest up to now where nothing is known of the workspace", () => {
    expect(periodsOf("12 March")).toEqual(["day 2026-03-12"]);
    expect(periodsOf("16 March")).toEqual(["day 2025-03-16"]);
    expect(periodsOf("29 February")).toEqual(["day 2024-02-29"]);
    expect(periodsOf("29 February", { now: new Date(2103, 5, 1) })).toEqual(["day 2096-02-29"]);
  });

  test("is each of those in which the workspace has a note of that day, the latest first", () => {
    const read = readTimes("12 March", { now, days: days("2019-03-12", "2021-03-12", "2022-03-13", "2023-06-01") });
    expect(read.periods.map(({ rank }) => rank)).toEqual([0, 1]);
  });

  test.each(tables.yearsOfNotes as [string, string, string[], string[]][])(
    "%s: %s is, with notes of %j, %j",
    (_, query, notes, expected) => {
      expect(periodsOf(query, { days: days(...notes) })).toEqual(expected);
    },
  );

  test.each(tables.unnamedYears as [string, string[]][])("of %s", (query, expected) => {
    expect(periodsOf(query, { days: days("2021-06-24", "2023-06-05", "2024-01-01") })).toEqual(expected);
  });
});

describe("named patterns", () => {
  test("of several groups of one name the one that matches has it", () => {
    const pattern = namedPattern(String.raw`(?<d>\d+)\. (?<m>may|june)|(?<m>may|june) (?<d>\d+)(?:, (?<y>\d+))?`);
    expect(groupsOf(pattern.exec("12. may"))).toEqual({ d: "12", m: "may" });
    expect(groupsOf(pattern.exec("june 3, 2024"))).toEqual({ d: "3", m: "june", y: "2024" });
    expect(groupsOf(pattern.exec("nothing"))).toBeUndefined();
  });

  test("every pattern that is put together from parts here is made so", () => {
    const sources = readdirSync(import.meta.dirname, { recursive: true, encoding: "utf8" }).filter((name) =>
      /(?<!\.test)\.ts$/.test(name),
    );
    expect(sources.length).toBeGreaterThan(8);
    const others = sources.filter((name) =>
      readFileSync(path.join(import.meta.dirname, name), "utf8").includes("new RegExp("),
    );
    expect(others).toEqual(["grammar.ts"]);
  });
});

test.each(tables.daysInText as [string, string[]][])("%j names the days %j", (text, days) => {
  expect(daysInText(text).map(({ from }) => isoDate(from))).toEqual(days);
});

test.each(tables.askedDays)("of the days that are asked for, $name", ({ line, asked, expected, most }) => {
  const runs = vi.spyOn(RegExp.prototype, "exec");
  const found = daysInText(line.repeat(1000), days(...asked));
  const count = runs.mock.calls.length;
  runs.mockRestore();
  expect(found.map(({ from, index }) => `${isoDate(from)} ${index}`)).toEqual(expected);
  expect(count).toBeLessThan(most);
});

const fit = (name: string, query: string): number =>
  timeMatch(timeOfPath(`${name}.md`), readTimes(query, { now }).periods).match;

test.each(tables.fits as [string, string, string, number][])(
  "how well a note fits a time, %s: %s and %s, %d",
  (_, name, query, expected) => {
    expect(fit(name, query)).toBeCloseTo(expected, 10);
  },
);

test("after a time it falls, a month reaches further than a day, a week as far", () => {
  const after = ["2026-03-06", "2026-03-07", "2026-03-10", "2026-03-12"].map((name) => fit(name, "2026-03-05"));
  expect(after).toEqual(after.toSorted((a, b) => b - a));
  expect(fit("2026-03-14", "in February")).toBeGreaterThan(0);
  expect(fit("2026-03-15", "last week")).toBeGreaterThan(0);
});

test("no time: nothing counts", () => {
  expect(timeMatch(undefined, readTimes("2026-01-02", { now }).periods)).toEqual({ match: 0, weight: 0 });
  expect(timeMatch(20_000, [])).toEqual({ match: 0, weight: 0 });
});

test("a note of a week or month fits a time within it, less the longer it is", () => {
  const [week, month, year] = ["2024-W12", "2024-03", "2024"].map((name) => fit(name, "2024-03-20"));
  expect(week).toBeGreaterThan(month ?? 1);
  expect(month).toBeGreaterThan(year ?? 1);
  expect(year).toBeGreaterThan(0.5);
  expect(fit("2024-W12", "2024-03-17")).toBeLessThan(0.6);
});

test("of several years that may be meant the latest is worth most", () => {
  const { periods } = readTimes("12 March", { now, days: days("2021-03-12", "2022-03-12", "2023-03-12") });
  const [latest, before, first] = ["2023-03-12", "2022-03-12", "2021-03-12"].map(
    (date) => timeMatch(days(date)[0], periods).match,
  );
  expect(latest).toBe(1);
  expect(before).toBeLessThan(1);
  expect(first).toBeLessThan(before ?? 0);
});

test("a note of the very day weighs more than any words, one of a longer time less, one that is only about then little", () => {
  const weight = (path: string, query: string): number =>
    timeMatch(timeOfPath(path), readTimes(query, { now }).periods).weight;
  const { weights } = tables;
  expect(weights.map(([path, query]) => [path, query, weight(String(path), String(query))])).toEqual(weights);
  for (const name of ["2024-W12", "2024-03-21"])
    expect(weight(`${name}.md`, "2024-03-20")).toBeCloseTo(0.4 * fit(name, "2024-03-20"), 10);
});

describe("the time of a path", () => {
  test.each(tables.dated as [string, string][])("%s is of %s", (path, expected) => {
    const time = timeOfPath(path);
    expect(time && `${time.unit} ${isoDate(time.from)}..${isoDate(time.to)}`).toBe(expected);
  });

  test.each(tables.undated)("%s is of no time", (path) => {
    expect(timeOfPath(path)).toBeUndefined();
  });
});
