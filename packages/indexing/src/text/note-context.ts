import { type NoteHead, readNoteHead } from "./note-head.ts";
import { remembered } from "./word-cache.ts";

export interface FileContext {
  above?: readonly string[];
  /** Such as its tags. */
  beside?: string;
  head?: Pick<NoteHead, "lines" | "saysMore">;
}

export function foldedTitle(title: string): string {
  return title
    .toLowerCase()
    .replaceAll(/[\s_-]+/gu, " ")
    .trim();
}

export interface ChunkNames {
  /** Day and title of the note, then the headings, outermost first. */
  titles: string[];
  aliases: string[];
  tags: string[];
  /** Whether the day, the first of the titles, is the one on which the note was made. */
  isWrittenDay?: true | undefined;
}

const betweenTitles = " > ";
const aliasMark = "= ";
const betweenAliases = " | ";
const maxBeside = 400;
/** Ends the context of a note whose day is the one that it was made on. */
const writtenMark = "\n~";
const isTags = (line: string): boolean => /^#\S+(?: #\S+)*$/u.test(line);

/** The context of all chunks of a note: its day (file name or front matter) and title; then aliases and tags. */
export function contextOfNote(
  day: string | undefined,
  lines: readonly string[],
  parse: Parameters<typeof readNoteHead>[1],
): FileContext {
  const head = readNoteHead(lines, parse);
  const above = [day ?? head.day, head.title].filter((name) => name !== undefined);
  const names = fitting(head.aliases, betweenAliases);
  const aliases = names === "" ? "" : aliasMark + names;
  const tags = fitting(
    head.tags.map((tag) => `#${tag}`),
    " ",
  );
  const mark = day === undefined && head.madeOn !== undefined ? "~" : "";
  return { above, beside: [aliases, tags, mark].filter(Boolean).join("\n"), head };
}

function fitting(names: readonly string[], between: string): string {
  let length = 0;
  return names.filter((name) => (length += name.length + between.length) <= maxBeside).join(between);
}

/** The part of a context that is embedded. */
export function embeddedContext(context: string): string {
  return context.endsWith(writtenMark) ? context.slice(0, -writtenMark.length) : context;
}

/** Reads a context as `contextOfNote` and the headings have made it. */
export function namesIn(context: string): ChunkNames {
  const lines = context.split("\n");
  const hasTitles = !lines[0]?.startsWith(aliasMark) && (!isTags(lines[0] ?? "") || lines.slice(1).some(isTags));
  const titles = hasTitles ? (lines[0] ?? "") : "";
  const beside = hasTitles ? lines.slice(1) : lines;
  const aliases = beside.find((line) => line.startsWith(aliasMark))?.slice(aliasMark.length);
  const tags = beside.find(isTags);
  return {
    titles: titles === "" ? [] : titles.split(betweenTitles),
    aliases: aliases?.split(betweenAliases) ?? [],
    tags: tags?.split(" ").map((tag) => tag.slice(1)) ?? [],
    isWrittenDay: context.endsWith(writtenMark) || undefined,
  };
}

/** Placeholders of a template: `{{title}}`, `<% tp.file.title %>`, `${title}`; not `${HOME}` or `${1}`. */
const placeholder = /\{\{[^{}]*\}\}|<%[^%]*%>|\$\{(?![A-Z_\d])[^{}]*\}/u;

export function isTemplateName(name: string): boolean {
  return placeholder.test(name) && placeholder.test(name.replaceAll(/`[^`]*`/gu, ""));
}

/** Names that say what a file is for and not what it is about. */
const plainNames: ReadonlySet<string> = new Set(["memory", "readme", "index", "_index", "untitled"]);
const dateInName = /^\d{4}[-_.]?\d{2}[-_.]?\d{2}[-_. ]*|^\d{4}-(?:W\d{2}|\d{2})$/iu;

/** The file name without date and separators; for `README.md` the folder name. */
export const nameOfNote: (path: string) => string | undefined = remembered((path) => {
  const parts = path.split("/");
  const stem = (parts.at(-1) ?? "").replace(/\.[^.]*$/u, "");
  const named = plainNames.has(stem.toLowerCase()) ? (parts.at(-2) ?? "") : stem;
  const words = named
    .replace(dateInName, "")
    .replaceAll(/[\s_-]+/gu, " ")
    .trim();
  return words === "" || (named !== stem && words.toLowerCase() === "memory") ? undefined : words;
});

/** Changes with what a note is found by beside its text and its context. */
export const pathNamesVersion = 2;

/** Text from which terms are taken. Path names are not in the context, so a moved note keeps its vectors. */
export function searchedText({ path, text, context }: { path: string; text: string; context: string }): string {
  return [text, context, pathNames(path, context)].filter(Boolean).join("\n");
}

const emoji = /\p{Extended_Pictographic}|\p{RI}{2}/gu;

/** Names of a note from its path, one per line. Undefined if none. */
export function pathNames(path: string, context = ""): string | undefined {
  const isOutside = path.startsWith("/") || /^[A-Za-z]:/u.test(path);
  const folders = isOutside ? [] : path.split("/").slice(0, -1);
  const says = (name: string): boolean => /\p{L}/u.test(name) && !plainNames.has(name.toLowerCase());
  const names = [
    nameOfNote(path),
    ...initialNames(path, context),
    ...folders.filter(says).map((name) => name.replaceAll(/[\s_-]+/gu, " ").trim()),
  ];
  const written = names.filter((name) => name !== undefined).join("\n");
  return [written, written.match(emoji)?.join(" ")].filter(Boolean).join("\n") || undefined;
}

/** Short words that initials may leave out: "Return on investment" is ROI, "Department of state" DS. */
const smallWords: ReadonlySet<string> = new Set(
  "a an and at by for from in of on or the to with de du des der die das und".split(" "),
);

function initialNames(path: string, context: string): string[] {
  const names = [nameOfNote(path), ...namesIn(context).titles.slice(0, 2)];
  return [...new Set(names.flatMap((name) => (name === undefined ? [] : initialsOf(name))))];
}

/** The initials of three to six words, with and without the short ones. */
export const initialsOf: (name: string) => readonly string[] = remembered((name) => {
  const words = name.replace(/\s*\([^()]*\)$/u, "").match(/[\p{L}\p{N}]+/gu) ?? [];
  const telling = words.filter((word) => !smallWords.has(word.toLowerCase()));
  return [words, telling]
    .filter(({ length }) => length >= 3 && length <= 6)
    .map((own) =>
      own
        .map((word) => String.fromCodePoint(word.codePointAt(0) ?? 0))
        .join("")
        .toUpperCase(),
    );
});
