import type { parse as parseYaml } from "yaml";
import { isoDate } from "./times/calendar.ts";
import { timeOfPath } from "./times/time-of-path.ts";

/** What a note says of itself before and beside its text. */
export interface NoteHead {
  /** Lines of the front matter, 0 where there is none. */
  lines: number;
  title: string | undefined;
  /** The day that its front matter says it is of or was made on, as `YYYY-MM-DD`. */
  day: string | undefined;
  /** Other names of the note. */
  aliases: string[];
  /** Without `#`, those of the front matter first, each once. */
  tags: string[];
  /** True where the front matter says more than how the note is named, filed and shown, or is no YAML. */
  saysMore: boolean;
}

/** Front matter that is longer than this is text. */
const maxHeadLines = 200;
const maxHeadLength = 20_000;
/** What is kept of names and tags: they stand with every chunk. */
const maxNames = 12;
const maxTags = 30;
const maxNameLength = 200;
/** A longer one is no tag. */
const maxTagLength = 100;

/** Properties that name, file or show a note. All others are things that a note says. */
const ownProperties: ReadonlySet<string> = new Set(
  (
    "title alias aliases tag tags keywords category categories type date day time created created_at updated updated_at " +
    "modified lastmod last_modified id uid uuid slug permalink layout template draft publish published lang weight " +
    "cssclass cssclasses icon banner cover toc"
  ).split(" "),
);

/**
 * Reads the front matter (YAML between two lines `---`) and the `#tags` of a note. What is no YAML is text, and a note
 * never fails for it. `parse` is that of `yaml`; without it front matter is text.
 */
export function readNoteHead(lines: readonly string[], parse: typeof parseYaml | undefined): NoteHead {
  const end = endOfFrontMatter(lines);
  const text = lines.slice(1, Math.max(1, end)).join("\n");
  const properties = end < 0 || parse === undefined ? undefined : parseProperties(text, parse);
  if (properties === undefined)
    return {
      lines: end + 1,
      title: undefined,
      day: undefined,
      aliases: [],
      tags: tagsIn(lines, end + 1, []),
      saysMore: end >= 0,
    };
  const valueOf = (...names: readonly string[]): string[] => names.flatMap((name) => textsOf(properties.get(name)));
  const tags = valueOf("tags", "tag", "keywords", "category", "categories")
    .flatMap((text) => text.split(/[,\s]+/u))
    .map((tag) => tag.replace(/^#/u, ""))
    .filter((tag) => tag !== "" && tag.length <= maxTagLength);
  return {
    lines: end + 1,
    title: valueOf("title")[0],
    day: dayIn(valueOf("date", "day", "created", "created_at")),
    aliases: valueOf("aliases", "alias").slice(0, maxNames),
    tags: tagsIn(lines, end + 1, tags),
    saysMore: [...properties].some(([name, value]) => !ownProperties.has(name) && textsOf(value).length > 0),
  };
}

function dayIn(values: readonly string[]): string | undefined {
  const times = values.map((value) => timeOfPath(value)).filter((time) => time?.unit === "day");
  return times[0] && isoDate(times[0].from);
}

export function mayHaveFrontMatter(lines: readonly string[]): boolean {
  return lines[0]?.trimEnd() === "---";
}

/** The index of the line that ends the front matter, -1 where there is none. */
function endOfFrontMatter(lines: readonly string[]): number {
  if (!mayHaveFrontMatter(lines)) return -1;
  let length = 0;
  for (let index = 1; index < Math.min(lines.length, maxHeadLines); index++) {
    const text = lines[index] ?? "";
    if (/^(?:---|\.\.\.)\s*$/u.test(text)) return index;
    length += text.length;
    if (length > maxHeadLength) return -1;
  }
  return -1;
}

/**
 * Numbers (from 0) of the lines of front matter that say nothing of the note's subject: its marks, and properties that name,
 * file or show the note, with what is indented below them. Empty where the text does not begin with front matter.
 */
export function silentLines(lines: readonly string[]): ReadonlySet<number> {
  const end = endOfFrontMatter(lines);
  const silent = new Set(end < 0 ? [] : [0, end]);
  let isSilent = false;
  for (let index = 1; index < end; index++) {
    const name = /^["']?([^\s"':#-][^:"']*)["']?\s*:/u.exec(lines[index] ?? "")?.[1];
    if (name !== undefined) isSilent = ownProperties.has(name.trim().toLowerCase());
    if (isSilent) silent.add(index);
  }
  return silent;
}

/** By their names in lower case; undefined where it is no list of properties. */
function parseProperties(text: string, parse: typeof parseYaml): Map<string, unknown> | undefined {
  try {
    // Aliases of YAML can grow without end, and Obsidian writes none.
    const value: unknown = parse(text, { maxAliasCount: 0, logLevel: "silent", uniqueKeys: false });
    if (value === null) return new Map();
    if (typeof value !== "object" || Array.isArray(value)) return undefined;
    return new Map(Object.entries(value).map(([name, own]) => [name.toLowerCase(), own]));
  } catch {
    return undefined;
  }
}

/** The texts of a property that is one or a list of them. */
function textsOf(value: unknown): string[] {
  if (Array.isArray(value)) return value.flatMap((each) => textsOf(each));
  if (typeof value === "number" || typeof value === "boolean") return [String(value)];
  if (typeof value === "object" && value !== null) return Object.values(value).flatMap((each) => textsOf(each));
  const text = typeof value === "string" ? value.trim().slice(0, maxNameLength) : "";
  return text === "" ? [] : [text];
}

const inlineTag = /(?<![\p{L}\p{N}_/#&[(=.:-])#([\p{L}\p{N}_][\p{L}\p{N}_/-]*)/gu;

/** The first tags: those that are known, then `#tags` in the text. Numbers alone, headings and what stands in code are none. */
function tagsIn(lines: readonly string[], from: number, known: readonly string[]): string[] {
  const tags = new Set(known);
  let fence: string | undefined;
  for (let index = from; index < lines.length && tags.size < maxTags; index++) {
    const line = lines[index] ?? "";
    const mark = /^\s{0,3}(`{3,}|~{3,})/u.exec(line)?.[1];
    if (fence === undefined && mark !== undefined) fence = mark;
    else if (fence !== undefined) {
      if (mark?.startsWith(fence) === true) fence = undefined;
      continue;
    }
    if (fence !== undefined || !line.includes("#")) continue;
    for (const [, tag = ""] of line.replaceAll(/`[^`]*`/gu, " ").matchAll(inlineTag)) {
      if (tags.size >= maxTags) break;
      if (tag.length <= maxTagLength && /\p{L}/u.test(tag)) tags.add(tag);
    }
  }
  return [...tags].slice(0, maxTags);
}
