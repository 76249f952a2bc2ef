import type { Dirent } from "node:fs";
import path from "node:path";
import type {
  LeftOutFile,
  MemoryFile,
  MemoryFileFacts,
  MemoryPluginContext,
  MemorySearchManager,
  Sentence,
} from "@memslot/core";
import { sentenceIn, storedSentence } from "@memslot/core/host";
import type { NoteIndex } from "../note-index.ts";
import type { ChunkRow, FileRecord } from "../index-row-types.ts";
import { onlyIn } from "../chunk-store.ts";
import { type FolderRules, folderRules, isMarkdown, maxDepth, unlessUnreadable } from "../scan/folder-rules.ts";
import { entriesOf } from "../scan/file-state.ts";
import { recordedState } from "../scan/file-state.ts";
import { scanMemory, type ScanResult } from "../scan/scan.ts";
import { linesOfChunks } from "../text/file-text.ts";
import { namesIn } from "../text/note-context.ts";
import { isoDate } from "../text/times/calendar.ts";
import { timeOfPath } from "../text/times/note-days.ts";
import { createTimeSlices } from "../time-slices.ts";
import { createLinkResolver, linksIn, type WrittenLink } from "../scan/note-links.ts";

const mostNames = 50_000;
const readAtOnce = 200;
const mostPassages = 2_000;
const mostLinks = 500;

interface NoteFacts extends Pick<MemoryFileFacts, "passages"> {
  title: string | undefined;
  aliases: readonly string[];
  tags: readonly string[];
  days: MemoryFile["days"];
  lines: number;
  links: readonly WrittenLink[];
}

/** Lists the files of the index and describes single notes. The facts of a note are kept until it changes. */
export function createListedMemory(
  store: NoteIndex,
  context: MemoryPluginContext,
): Required<Pick<MemorySearchManager, "listFiles" | "describeFile">> {
  const { settings, stateDir, workspaceDir } = context;
  const factsOf = createNoteFacts(store);
  let linked: (LinkedNotes & { revision: string }) | undefined;
  return {
    async listFiles({ limit, newest = false, scan = true, signal }) {
      const records = await store.listFiles();
      const notes = records.filter(({ source }) => source === "memory");
      const skipped = new Map(
        notes.flatMap((record) => {
          const why = recordedState(record).skipped;
          return why === undefined ? [] : [[record.path, storedSentence(why)] as const];
        }),
      );
      const indexed = records.filter(({ path: file, source }) => source !== "memory" || !skipped.has(file));
      const known = notes.filter(({ path: file }) => !skipped.has(file));
      const byPath = (a: FileRecord, b: FileRecord): number => (a.path < b.path ? -1 : 1);
      const shown = indexed.toSorted(newest ? (a, b) => b.mtimeMs - a.mtimeMs || byPath(a, b) : byPath).slice(0, limit);
      const facts = await factsOf(
        shown.filter(({ source }) => source === "memory"),
        signal,
      );
      const scanned = scan && settings.sources.includes("memory") ? await scanMemory(context, signal) : undefined;
      const failed = new Map([...(scanned === undefined ? [] : failuresOf(scanned)), ...skipped]);
      const taken = new Set(scanned?.files.map((file) => file.path).filter((file) => !failed.has(file)));
      const nothing = { leftOut: [], more: false };
      const { leftOut, more } = scan ? await findLeftOut({ workspaceDir, stateDir, taken, failed }, signal) : nothing;
      const pending = taken.difference(new Set(known.map((record) => record.path)));
      const all: LeftOutFile[] = [
        ...[...failed].map(([file, problem]) => {
          return { path: file, kind: "file", reason: "failed", detail: problem.reason, problem } as const;
        }),
        ...[...pending].map((file) => ({ path: file, kind: "file", reason: "pending" }) as const),
        ...leftOut
          .filter(isNote)
          .map((each) => (scanned?.accepted?.has(each.path) ? { ...each, reason: "excluded" as const } : each)),
        ...leftOut.filter((each) => !isNote(each)),
      ];
      const files = shown.map((record) =>
        fileOf(record, record.source === "memory" ? facts.get(record.path) : undefined),
      );
      return { files, fileCount: indexed.length, leftOut: all.slice(0, limit), leftOutCount: all.length, more };
    },

    async describeFile({ relPath, signal }) {
      // Another process may have written to the index.
      const revision = await store.revision({ fresh: true });
      if (linked?.revision !== revision) {
        const records = (await store.listFiles()).filter(({ source }) => source === "memory");
        linked = { revision, ...linkNotes(await factsOf(records, signal)) };
      }
      return describeNote(relPath, linked);
    },
  };
}

/** Lists unsearched files of a workspace with reasons. Reads names only. `more`: incomplete. */
async function findLeftOut(
  input: {
    workspaceDir: string;
    stateDir: string;
    taken: ReadonlySet<string>;
    failed: ReadonlyMap<string, Sentence>;
  },
  signal: AbortSignal,
): Promise<{ leftOut: LeftOutFile[]; more: boolean }> {
  const { workspaceDir, stateDir, taken, failed } = input;
  const slices = createTimeSlices(signal);
  const withTaken = foldersOf(taken);
  const leftOut: LeftOutFile[] = [];
  const folders: { way: string; enter: () => FolderRules | undefined }[] = [
    { way: "", enter: () => folderRules({ folder: workspaceDir, stateDir }) },
  ];
  let names = 0;
  for (let next = folders.shift(); next !== undefined; next = folders.shift()) {
    if (slices.isOver()) await slices.pause();
    if (names > mostNames) return { leftOut, more: true };
    const { way, enter } = next;
    const rules = unlessUnreadable(enter);
    for (const entry of entriesOf(path.join(workspaceDir, way)).toSorted((a, b) => (a.name < b.name ? -1 : 1))) {
      names++;
      const own = way + entry.name;
      if (taken.has(own) || failed.has(own)) continue;
      const isFolder = entry.isDirectory();
      const reason = rules?.leavesOut(entry.name, isFolder);
      if (!isFolder || (reason !== undefined && !withTaken.has(`${own}/`)))
        leftOut.push({ path: own, kind: isFolder ? "folder" : "file", reason: reason ?? kindOf(entry) });
      else if (own.split("/").length <= maxDepth)
        folders.push({ way: `${own}/`, enter: () => rules?.enter(entry.name) });
    }
  }
  return { leftOut, more: false };
}

function kindOf(entry: Dirent): LeftOutFile["reason"] {
  if (entry.isSymbolicLink()) return "link";
  return entry.isFile() && isMarkdown(entry.name) ? "layout" : "other";
}

function foldersOf(files: ReadonlySet<string>): ReadonlySet<string> {
  const folders = new Set<string>();
  for (const file of files)
    for (let end = file.indexOf("/"); end >= 0; end = file.indexOf("/", end + 1)) folders.add(file.slice(0, end + 1));
  return folders;
}

/** Whether something is a note or may contain one. */
function isNote({ path: file, reason, kind }: LeftOutFile): boolean {
  return reason === "layout" || (kind === "file" ? isMarkdown(file) : reason === "ignored");
}

/** Files and places that could not be scanned. Most configured places do not exist: these are none. */
function failuresOf({ failed, roots }: ScanResult): [path: string, why: Sentence][] {
  const skipped = roots.filter(({ state, code }) => state === "skipped" && code !== "file.missing");
  return [...failed, ...skipped].map((each) => [each.path, sentenceIn({ ...each, reason: each.reason ?? "" })]);
}

function fileOf({ path: file, source, size, mtimeMs }: FileRecord, facts: NoteFacts | undefined): MemoryFile {
  return {
    path: file,
    source,
    bytes: size,
    ...(mtimeMs > 0 && { modified: new Date(mtimeMs).toISOString() }),
    ...(facts && {
      passages: facts.passages.length,
      lines: facts.lines,
      title: facts.title,
      ...(facts.aliases.length > 0 && { aliases: facts.aliases }),
      ...(facts.tags.length > 0 && { tags: facts.tags }),
      days: facts.days,
    }),
  };
}

function daysOf(file: string, day: string | undefined): MemoryFile["days"] {
  const time = timeOfPath(file);
  if (time !== undefined) return [isoDate(time.from), isoDate(time.to)];
  return day === undefined ? undefined : [day, day];
}

type LinkedNotes = ReturnType<typeof linkNotes>;

/** Resolves all links once, for the links and backlinks of each note. */
function linkNotes(facts: ReadonlyMap<string, NoteFacts>) {
  const resolve = createLinkResolver([...facts].map(([file, { title, aliases }]) => ({ path: file, title, aliases })));
  const links = [...facts].flatMap(([from, note]) =>
    note.links.map((link) => ({
      to: resolve(from, link).path,
      link: { path: from, line: link.line, text: link.text },
    })),
  );
  return { facts, resolve, backlinks: Map.groupBy(links, ({ to }) => to) };
}

function describeNote(relPath: string, { facts, resolve, backlinks: known }: LinkedNotes): MemoryFileFacts | undefined {
  const wanted = path.posix.normalize(relPath.replace(/^\.\//u, ""));
  const own = facts.get(wanted);
  if (own === undefined) return undefined;
  const links = own.links.map(({ text: _text, ...link }) => ({ ...link, ...resolve(wanted, link) }));
  const backlinks = (known.get(wanted) ?? []).map(({ link }) => link).filter(({ path: from }) => from !== wanted);
  return {
    path: wanted,
    passages: own.passages.slice(0, mostPassages),
    passageCount: own.passages.length,
    links: links.slice(0, mostLinks),
    linkCount: links.length,
    backlinks: backlinks
      .toSorted((a, b) => (a.path === b.path ? a.line - b.line : a.path < b.path ? -1 : 1))
      .slice(0, mostLinks),
    backlinkCount: backlinks.length,
  };
}

/** Returns facts of notes by path. Texts are read once, and again after a change of content or recipe. */
function createNoteFacts(
  store: NoteIndex,
): (files: readonly FileRecord[], signal: AbortSignal) => Promise<ReadonlyMap<string, NoteFacts>> {
  let known = new Map<string, { state: string; facts: NoteFacts }>();

  async function read(files: readonly FileRecord[], signal: AbortSignal): Promise<ReadonlyMap<string, NoteFacts>> {
    const states = new Map(files.map((file) => [file.path, `${file.hash} ${file.recipe}`]));
    const next = new Map([...known].filter(([file, { state }]) => (states.get(file) ?? state) === state));
    const unread = [...states].filter(([file]) => !next.has(file));
    const slices = createTimeSlices(signal, { background: true });
    for (let from = 0; from < unread.length; from += readAtOnce) {
      await slices.pause();
      const some = unread.slice(from, from + readAtOnce);
      const scope = onlyIn(some.map(([file]) => file));
      const rows = await store.listChunks({ sources: ["memory"], scope, withText: true });
      const byPath = Map.groupBy(rows, (row) => row.path);
      for (const [file, state] of some) next.set(file, { state, facts: factsOf(file, byPath.get(file) ?? []) });
    }
    known = next;
    return new Map(files.map((file) => [file.path, next.get(file.path)?.facts ?? factsOf(file.path, [])]));
  }

  let turn: Promise<unknown> = Promise.resolve();
  return async (files, signal) => {
    const own = turn.then(() => read(files, signal));
    turn = own.catch(() => undefined);
    return await own;
  };
}

const isDay = /^\d{4}-\d{2}-\d{2}$/u;

function factsOf(file: string, rows: readonly ChunkRow[]): NoteFacts {
  const names = rows.map(({ context }) => namesIn(context));
  const whole = linesOfChunks(rows);
  const titles = names[0]?.titles ?? [];
  return {
    title: titles.find((title) => !isDay.test(title)) ?? firstHeading(whole),
    aliases: names[0]?.aliases ?? [],
    tags: [...new Set(names.flatMap(({ tags }) => tags))],
    days: daysOf(
      file,
      titles.find((title) => isDay.test(title)),
    ),
    passages: rows.map(({ startLine, endLine }) => ({ startLine, endLine })),
    lines: rows.reduce((last, { endLine }) => Math.max(last, endLine), 0),
    links: linksIn(whole),
  };
}

function firstHeading(lines: readonly string[]): string | undefined {
  const heading = lines.find((line) => /^#{1,6}\s/u.test(line));
  const title = heading?.replace(/^#+\s+/u, "").replace(/\s+#+\s*$/u, "");
  return title?.trim() || undefined;
}
