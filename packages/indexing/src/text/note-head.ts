import type { parse as parseYaml } from "yaml";
import { isoDate } from "./times/calendar.ts";
import { timeOfPath } from "./times/note-days.ts";

export interface NoteHead {
  lines: number;
  title: string | undefined;
  /** The day that its front matter says it is of or was made on, as `YYYY-MM-DD`. */
  day: string | undefined;
  /** The same, where it only says when the note was made. */
  madeOn?: string | undefined;
  aliases: string[];
  tags: string[];
  /** True if the front matter says more than how the note is named, filed and shown, or is no YAML. */
  saysMore: boolean;
}

const maxHeadLines = 200;
const maxHeadLength = 20_000;
/** What is kept of names and tags: they stand with every chunk. */
const maxNames = 12;
const maxTags = 30;
const maxNameLength = 200;
const maxTagLength = 100;

/** Properties that name, file or show a note. All others are things that a note says. */
const ownProperties: ReadonlySet<string> = new Set(
  (
    "title alias aliases tag tags keywords category categories type date day time created created_at updated updated_at " +
    "modified lastmod last_modified id uid uuid slug permalink layout template draft publish published lang weight " +
    "cssclass cssclasses icon banner cover toc"
  ).split(" "),
);

/** Reads front matter and `#tags`. Never fails on invalid YAML. `parse`: of `yaml`, if needed. */
export function readNoteHead(lines: readonly string[], parse: typeof parseYaml | undefined): NoteHead {
  const blocks = frontMatter(lines);
  const end = blocks.at(-1)?.end ?? -1;
  const properties = new Map<string, unknown[]>();
  for (const { from, end: last } of blocks)
    if (parse !== undefined) addProperties(properties, lines.slice(from + 1, last), parse);
  const valueOf = (...names: readonly string[]): string[] => names.flatMap((name) => textsOf(properties.get(name)));
  const ofDay = dayIn(valueOf("date", "day"));
  const madeOn = dayIn(valueOf("created", "created_at"));
  const tags = valueOf("tags", "tag", "keywords", "category", "categories")
    .flatMap((text) => text.split(/[,\s]+/u))
    .map((tag) => tag.replace(/^#/u, ""))
    .filter((tag) => tag !== "" && tag.length <= maxTagLength);
  const isText = properties.size === 0 && lines.slice(1, Math.max(1, end)).some((line) => !/^\s*(?:#.*)?$/u.test(line));
  return {
    lines: end + 1,
    title: valueOf("title")[0],
    day: ofDay ?? madeOn,
    madeOn: ofDay === undefined ? madeOn : undefined,
    aliases: valueOf("aliases", "alias").slice(0, maxNames),
    tags: tagsIn(lines, end + 1, tags),
    saysMore: isText || [...properties].some(([name, value]) => !ownProperties.has(name) && textsOf(value).length > 0),
  };
}

function dayIn(values: readonly string[]): string | undefined {
  const times = values.map((value) => timeOfPath(value)).filter((time) => time?.unit === "day");
  return times[0] && isoDate(times[0].from);
}

export function mayHaveFrontMatter(lines: readonly string[]): boolean {
  return lines[0]?.trimEnd() === "---";
}

function frontMatter(lines: readonly string[]): { from: number; end: number }[] {
  const end = endOfBlock(lines, 0);
  if (end < 0) return [];
  const from = lines.findIndex((line, index) => index > end && line.trim() !== "");
  const second = endOfBlock(lines, from);
  const inside = lines.slice(from + 1, Math.max(from, second));
  // Text between two rulers is not front matter.
  const isBlock =
    second > 0 &&
    inside.every((line) => /^(?:\s|#|- |$)/u.test(line) || property.test(line)) &&
    inside.some((line) => ownProperties.has(nameIn(line)));
  return isBlock
    ? [
        { from: 0, end },
        { from, end: second },
      ]
    : [{ from: 0, end }];
}

function endOfBlock(lines: readonly string[], from: number): number {
  if (lines[from]?.trimEnd() !== "---") return -1;
  let length = 0;
  for (let index = from + 1; index < Math.min(lines.length, from + maxHeadLines); index++) {
    const text = lines[index] ?? "";
    if (/^(?:---|\.\.\.)\s*$/u.test(text)) return index;
    length += text.length;
    if (length > maxHeadLength) return -1;
  }
  return -1;
}

/** Line numbers (from 0) of front matter without content. */
export function silentLines(lines: readonly string[]): ReadonlySet<number> {
  const silent = new Set<number>();
  for (const { from, end } of frontMatter(lines)) {
    let isSilent = false;
    for (let index = from; index <= end; index++) {
      const name = nameIn(lines[index] ?? "");
      if (name !== "") isSilent = ownProperties.has(name);
      if (isSilent || index === from || index === end) silent.add(index);
    }
  }
  return silent;
}

/** A property with its value, as far as it is in that line. */
const property = /^["']?([^\s"':#-][^:："']*)["']?\s*[:：](?!\/\/)\s*(.*)$/u;
/** YAML treats `#` as a comment; authors mean a tag or title. */
const hidden = /^(?:\s*-|(?:title|tags?|keywords|alias(?:es)?)\s*:)[ \t]+#[^\s#]/iu;

function nameIn(line: string): string {
  return property.exec(line)?.[1]?.trim().toLowerCase() ?? "";
}

function addProperties(to: Map<string, unknown[]>, lines: readonly string[], parse: typeof parseYaml): void {
  const add = (name: string, value: unknown): unknown =>
    to.set(name.trim().toLowerCase(), [...(to.get(name.trim().toLowerCase()) ?? []), value]);
  const whole = mappingIn(lines, parse);
  if (whole !== undefined) {
    for (const [name, value] of Object.entries(whole)) add(name, value);
    return;
  }
  /** Anchors and aliases: bounded, since an anchor may contain itself. */
  const known = new Map<string, string[]>();
  const plain = lines.map((line) => line.replaceAll("\t", "  "));
  for (let index = 0; index < plain.length;) {
    const first = plain[index++]?.trimStart() ?? "";
    const [, name, value = ""] = property.exec(first) ?? [];
    if (name === undefined) continue;
    const own = [first];
    while (/^(?: |- )/u.test(plain[index] ?? "")) own.push(plain[index++] ?? "");
    const items = own.slice(1).flatMap((line) => /^ *- +(.*)$/u.exec(line)?.[1] ?? []);
    const read =
      Object.values(mappingIn(own, parse) ?? {})[0] ?? [value, ...items].map((text) => looseValue(text, known));
    const anchor = /^&(\S+)/u.exec(value)?.[1];
    if (anchor !== undefined) known.set(`*${anchor}`, textsOf(read).slice(0, maxTags));
    add(name, read);
  }
}

function mappingIn(lines: readonly string[], parse: typeof parseYaml): object | undefined {
  if (lines.some((line) => hidden.test(line))) return undefined;
  try {
    // YAML aliases can expand without limit.
    const value: unknown = parse(lines.join("\n"), { maxAliasCount: 0, logLevel: "error" });
    return typeof value === "object" && !Array.isArray(value) ? (value ?? {}) : undefined;
  } catch {
    return undefined;
  }
}

function looseValue(text: string, known: ReadonlyMap<string, string[]>): string[] {
  const plain = text.replace(/^&\S+\s+/u, "").trim();
  const list = /^\[([^\]]*)\]?$/u.exec(plain)?.[1]?.split(",") ?? [plain];
  return list.flatMap((each) => known.get(each.trim()) ?? each.trim().replaceAll(/^["']|["']$/gu, ""));
}

function textsOf(value: unknown): string[] {
  if (Array.isArray(value)) return value.flatMap((each) => textsOf(each));
  if (typeof value === "number" || typeof value === "boolean") return [String(value)];
  if (typeof value === "object" && value !== null) return Object.values(value).flatMap((each) => textsOf(each));
  const text = typeof value === "string" ? value.trim().slice(0, maxNameLength) : "";
  return text === "" ? [] : [text];
}

const inlineTag = /(?<![\p{L}\p{N}_/#&[(=.:-])#([\p{L}\p{N}_][\p{L}\p{N}_/-]*)/gu;

/** The first tags: the known ones, then `#tags` in the text outside of code. */
function tagsIn(lines: readonly string[], from: number, known: readonly string[]): string[] {
  const tags = new Set(known);
  for (const [, line] of proseLines(lines, from)) {
    if (tags.size >= maxTags) break;
    if (!line.includes("#")) continue;
    for (const [, tag = ""] of withoutCode(line).matchAll(inlineTag))
      if (tag.length <= maxTagLength && /\p{L}/u.test(tag)) tags.add(tag);
  }
  return [...tags].slice(0, maxTags);
}

/** The lines outside of code blocks, with their indexes. */
export function* proseLines(lines: readonly string[], from = 0): Generator<[index: number, line: string]> {
  let fence: string | undefined;
  for (let index = from; index < lines.length; index++) {
    const line = lines[index] ?? "";
    const mark = /^\s{0,3}(`{3,}|~{3,})/u.exec(line)?.[1];
    if (fence !== undefined) fence = mark?.startsWith(fence) === true ? undefined : fence;
    else if (mark === undefined) yield [index, line];
    else fence = mark;
  }
}

export function withoutCode(line: string): string {
  return line.replaceAll(/`[^`]*`/gu, " ");
}

// Expressions must be linear: a line can be as long as a file.
const headingMarks = /^ {0,3}(#{1,6})(?=[ \t]|$)/;

/** A `#` heading. Its title may be empty. */
export function headingOf(line: string): { level: number; title: string } | undefined {
  const match = headingMarks.exec(line);
  if (!match) return undefined;
  const title = line.slice(match[0].length).trim();
  let end = title.length;
  while (title[end - 1] === "#") end--;
  const closed = end === 0 || title[end - 1] === " " || title[end - 1] === "\t";
  return { level: match[1]?.length ?? 1, title: closed ? title.slice(0, end).trim() : title };
}
