import { readFileSync } from "node:fs";
import path from "node:path";
import { randomNumbers } from "../support/corpus.ts";
import type { EvidenceLines, Vault, VaultQuestion } from "../retrieval/vault.ts";
import { type Day, dayNames, dayOf, iso, monthAround, type SaidTime, weekdayOf } from "./said-days.ts";

/** What somebody writes about, and how it is asked for. */
interface Topic {
  things: string[];
  told: string[];
  asked: string[];
  within: string[];
}

interface Diarist {
  language: string;
  seed: number;
  from: string;
  to: string;
  days: number;
  path: string;
  head: string;
  entry: string;
  /** The fewest and the most entries of a day. */
  entries: [number, number];
  people: string[];
  chatter: string[];
  topics: Topic[];
  bare: string[];
  questions: Record<"bare" | "thing" | "person" | "relative" | "period", number>;
}

interface Entry {
  day: Day;
  topic: Topic | undefined;
  who: string;
  place: EvidenceLines;
}

interface Written {
  notes: Map<string, string>;
  days: Day[];
  entries: Entry[];
}

export const diarists: readonly string[] = ["mara", "jonas", "yue"];

/**
 * A diary with questions about named days, the same in every run. Each day speaks of some of the same few topics, and so do
 * all others: what tells them apart is the day.
 */
export function makeDiary(name: string): Vault {
  const diarist = JSON.parse(readFileSync(path.join(import.meta.dirname, `${name}.json`), "utf8")) as Diarist;
  const random = randomNumbers(diarist.seed);
  const choose = <Item>(from: readonly Item[]): Item => from[Math.floor(random() * from.length)] as Item;
  const written = write(diarist, random, choose);
  return { notes: written.notes, questions: ask(name, diarist, written, choose) };
}

type Choose = <Item>(from: readonly Item[]) => Item;

function write(diarist: Diarist, random: () => number, choose: Choose): Written {
  const names = dayNames[diarist.language];
  const [first, last] = [dayOf(diarist.from), dayOf(diarist.to)];
  const chosen = new Set<Day>();
  while (chosen.size < diarist.days) chosen.add(first + Math.floor(random() * (last - first + 1)));
  const days = [...chosen].sort((a, b) => a - b);
  const written: Written = { notes: new Map(), days, entries: [] };
  for (const day of days) {
    const [y, m, d] = iso(day).split("-").map(Number);
    const named = (text: string): string =>
      fill(text, { iso: iso(day), zh: `${y}年${m}月${d}日`, weekday: names?.weekdays[weekdayOf(day)] ?? "" });
    const file = named(diarist.path);
    const lines = [...named(diarist.head).split("\n"), ""];
    const topics = shuffled(diarist.topics, random);
    const [fewest, most] = diarist.entries;
    const count = fewest + Math.floor(random() * (most - fewest + 1));
    for (let index = 0; index < count; index++) {
      const who = choose(diarist.people);
      const topic = random() < 0.3 ? undefined : topics[index];
      const thing = topic && fill(choose(topic.things), { who: choose(diarist.people) });
      const text = fill(choose(topic ? topic.told : diarist.chatter), { who, x: thing ?? "" });
      lines.push(fill(diarist.entry, { text: capital(text) }));
      written.entries.push({ day, topic, who, place: { path: file, startLine: lines.length, endLine: lines.length } });
    }
    written.notes.set(file, `${lines.join("\n")}\n`);
  }
  return written;
}

function ask(name: string, diarist: Diarist, written: Written, choose: Choose): VaultQuestion[] {
  const questions = new Map<string, VaultQuestion>();
  const { topics, language } = diarist;
  const recommended = topics[language === "en" ? 3 : 2] as Topic;
  const add = (kind: string, form: string, time: SaidTime, evidence: EvidenceLines[], who?: string): void => {
    const query = capitalLike(form, fill(form, saidAs(time.words, { who: who ?? "" })));
    const key = `${query} ${time.now}`;
    if (evidence.length === 0 || questions.has(key)) return;
    const id = `${name}-${questions.size + 1}`;
    const now = time.now === undefined ? undefined : iso(time.now);
    const period = { since: iso(time.since), until: iso(time.until) };
    questions.set(key, { id, kind, language, query, now, period, evidence });
  };
  const placesOf = (topic: Topic, { since, until }: Pick<SaidTime, "since" | "until">): Entry[] =>
    written.entries.filter((entry) => entry.topic === topic && entry.day >= since && entry.day <= until);
  const wholeDay = (day: Day): EvidenceLines[] => {
    const places = written.entries.filter((entry) => entry.day === day).map(({ place }) => place);
    return [{ ...(places[0] as EvidenceLines), endLine: places.at(-1)?.endLine ?? 1 }];
  };
  const onTopic = (kind: string, time: SaidTime, topic: Topic): void => {
    const asksWho = topic === recommended;
    const [entry] = placesOf(topic, time);
    if (entry) add(kind, choose(topic.asked), time, [entry.place], asksWho ? entry.who : undefined);
  };
  const kinds: Record<string, () => void> = {
    bare: () => {
      const time = named(choose(written.days), written, language, choose);
      if (time) add("day", choose(diarist.bare), time, wholeDay(time.since));
    },
    thing: () => {
      const time = named(choose(written.days), written, language, choose);
      if (time) onTopic("thing of a day", time, choose(topics.filter((topic) => topic !== recommended)));
    },
    person: () => {
      const time = named(choose(written.days), written, language, choose);
      if (time) onTopic("person of a day", time, recommended);
    },
    relative: () => {
      const time = ago(choose(written.days), language, choose);
      if (choose([true, false, false])) add("relative day", choose(diarist.bare), time, wholeDay(time.since));
      else onTopic("relative day", time, choose(topics));
    },
    period: () => {
      const time = around(choose(written.days), written, language, choose);
      const topic = choose(topics);
      const places = time ? placesOf(topic, time).map(({ place }) => place) : [];
      if (time) add("period", choose(topic.within), time, places);
    },
  };
  for (const [kind, count] of Object.entries(diarist.questions)) {
    const wanted = questions.size + count;
    while (questions.size < wanted) kinds[kind]?.();
  }
  return [...questions.values()];
}

/** A day by its date; without a year only where it is the latest such day in the diary. */
function named(day: Day, { days }: Written, language: string, choose: Choose): SaidTime | undefined {
  const names = dayNames[language];
  if (names === undefined) return undefined;
  const isLatest = days.findLast((other) => iso(other).slice(5) === iso(day).slice(5)) === day;
  const form = choose(isLatest ? [...names.ofAnyYear, ...names.ofAnyYear, ...names.ofYear] : names.ofYear);
  return { words: form(day), since: day, until: day };
}

/** A day as it is called some days later. */
function ago(day: Day, language: string, choose: Choose): SaidTime {
  const names = dayNames[language];
  const known = Object.entries(names?.ago ?? {});
  if (choose([true, true, false])) {
    const [back = "1", words = ""] = choose(known);
    return { words, since: day, until: day, now: day + Number(back) };
  }
  const back = names?.isOfWeekBefore === true ? 7 - weekdayOf(day) + choose([0, 1, 2, 3]) : choose([2, 3, 4, 5, 6]);
  return { words: names?.weekday(day) ?? "", since: day, until: day, now: day + back };
}

/** A week or a month that a day is in. */
function around(day: Day, { days }: Written, language: string, choose: Choose): SaidTime | undefined {
  const names = dayNames[language];
  if (names === undefined) return undefined;
  const month = monthAround(day);
  const monday = day - weekdayOf(day);
  const latest = days.findLast((other) => iso(other).slice(5, 7) === iso(day).slice(5, 7)) ?? day;
  return choose<SaidTime>([
    { words: names.monthOfYear(day), ...month },
    ...(latest <= month.until ? [{ words: names.month(day), ...month }] : []),
    { words: names.lastWeek, since: monday, until: monday + 6, now: monday + 7 + choose([0, 1, 2, 3, 4]) },
    { words: names.lastMonth, ...month, now: month.until + choose([2, 5, 9, 20]) },
  ]);
}

/** `{on}` and `{in}` are the time, `{On}` at the beginning of a question. */
function saidAs(words: string, more: Record<string, string>): Record<string, string> {
  return { ...more, on: words, in: words, On: capital(words) };
}

function fill(text: string, words: Readonly<Record<string, string>>): string {
  return text.replaceAll(/\{(\w+)\}/g, (whole, name: string) => words[name] ?? whole);
}

function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

/** A question that is nothing but a time is typed without its "on". */
function capitalLike(form: string, query: string): string {
  return form === "{on}" ? query.replace(/^(?:on|am) (?:the )?/, "") : query;
}

function shuffled<Item>(items: readonly Item[], random: () => number): Item[] {
  return items
    .map((item) => ({ item, at: random() }))
    .sort((a, b) => a.at - b.at)
    .map(({ item }) => item);
}
