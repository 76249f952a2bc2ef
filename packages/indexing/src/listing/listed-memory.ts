import type {
  LeftOutFile,
  MemoryFile,
  MemoryFileList,
  MemoryPluginContext,
  MemoryFileFacts,
  NoteBacklink,
  MemorySearchManager,
} from "@memslot/core";
import type { ChunkIndex, FileRecord } from "../chunk-index.ts";
import { isMarkdown } from "../files/folder/markdown-name.ts";
import { skippedBecause } from "../files/read-chunks.ts";
import { scanMemory, type ScanResult } from "../files/scan.ts";
import { isoDate } from "../text/times/calendar.ts";
import { timeOfPath } from "../text/times/time-of-path.ts";
import { findLeftOut } from "./left-out-files.ts";
import { type NoteFacts, createNoteFacts } from "./note-facts.ts";
import path from "node:path";
import { createLinkResolver } from "./resolve-link.ts";

interface Listing {
  context: Pick<MemoryPluginContext, "settings" | "stateDir" | "workspaceDir">;
  store: Pick<ChunkIndex, "listFiles">;
  factsOf: (files: readonly FileRecord[], signal: AbortSignal) => Promise<ReadonlyMap<string, NoteFacts>>;
}

/** The files of the index, and what lies beside them and is not in it. Looks at the disk for the latter. */
async function listFiles(
  { context, store, factsOf }: Listing,
  { limit, signal }: { limit: number; signal: AbortSignal },
): Promise<MemoryFileList> {
  const { settings, stateDir, workspaceDir } = context;
  const records = await store.listFiles();
  const skipped = new Map(
    records.flatMap((record) => {
      const why = record.source === "memory" ? skippedBecause(record) : undefined;
      return why === undefined ? [] : [[record.path, why] as const];
    }),
  );
  const indexed = records.filter(({ path, source }) => source !== "memory" || !skipped.has(path));
  const facts = await factsOf(
    indexed.filter(({ source }) => source === "memory"),
    signal,
  );
  const { extraPaths, exclude, notes } = settings;
  const scanned = settings.sources.includes("memory")
    ? await scanMemory({ workspaceDir, extraPaths, exclude, notes: { notes, stateDir }, signal })
    : undefined;
  const failed = new Map([...(scanned === undefined ? [] : failuresOf(scanned)), ...skipped]);
  const known = new Set(indexed.filter(({ source }) => source === "memory").map(({ path }) => path));
  const taken = new Set(scanned?.files.map(({ path }) => path).filter((path) => !failed.has(path)));
  const accepted = scanned?.accepted ?? new Set();
  const { leftOut, more } = await findLeftOut({ workspaceDir, stateDir, seen: { taken, failed } }, signal);
  const all: LeftOutFile[] = [
    ...[...failed].map(([path, detail]): LeftOutFile => ({ path, kind: "file", reason: "failed", detail })),
    ...[...taken]
      .filter((path) => !known.has(path))
      .map((path): LeftOutFile => ({ path, kind: "file", reason: "pending" })),
    ...leftOut
      .filter(isNote)
      .map((each) => (accepted.has(each.path) ? { ...each, reason: "excluded" as const } : each)),
    ...leftOut.filter((each) => !isNote(each)),
  ];
  const files = indexed
    .toSorted((a, b) => (a.path < b.path ? -1 : 1))
    .slice(0, limit)
    .map((record) => fileOf(record, record.source === "memory" ? facts.get(record.path) : undefined));
  return {
    files,
    fileCount: indexed.length,
    leftOut: all.slice(0, limit),
    leftOutCount: all.length,
    more,
  };
}

/** What is or may hold a note. */
function isNote({ path, reason, kind }: LeftOutFile): boolean {
  return reason === "layout" || (kind === "file" && isMarkdown(path)) || (kind === "folder" && reason === "ignored");
}

/** What was to be taken: places that are not there, as they usually are not, are none. */
function failuresOf({ failed, roots }: ScanResult): [path: string, reason: string][] {
  const skipped = roots.filter(({ state, reason }) => state === "skipped" && reason !== "does not exist");
  return [...failed, ...skipped].map(({ path, reason }) => [path, reason ?? ""]);
}

function fileOf({ path, source, size, mtimeMs }: FileRecord, facts: NoteFacts | undefined): MemoryFile {
  return {
    path,
    source,
    bytes: size,
    ...(mtimeMs > 0 && { modified: new Date(mtimeMs).toISOString() }),
    ...(facts && {
      passages: facts.passages.length,
      lines: facts.lines,
      title: facts.title,
      ...(facts.aliases.length > 0 && { aliases: facts.aliases }),
      ...(facts.tags.length > 0 && { tags: facts.tags }),
      days: daysOf(path, facts.day),
    }),
  };
}

function daysOf(path: string, day: string | undefined): MemoryFile["days"] {
  const time = timeOfPath(path);
  if (time !== undefined) return [isoDate(time.from), isoDate(time.to)];
  return day === undefined ? undefined : [day, day];
}

const mostPassages = 2_000;
const mostLinks = 500;

/** What the index knows of one note; undefined where it is not indexed. `records` are those of all notes. */
function describeFile(
  relPath: string,
  records: readonly FileRecord[],
  facts: ReadonlyMap<string, NoteFacts>,
): MemoryFileFacts | undefined {
  const wanted = path.posix.normalize(relPath.replace(/^\.\//u, ""));
  const own = facts.get(wanted);
  if (own === undefined) return undefined;
  const resolve = createLinkResolver(
    records.map((record) => {
      const { title, aliases } = facts.get(record.path) ?? {};
      return { path: record.path, title, aliases };
    }),
  );
  const links = own.links.map(({ text: _text, ...link }) => ({ ...link, ...resolve(wanted, link) }));
  const backlinks: NoteBacklink[] = [];
  for (const [from, { links: others }] of facts) {
    if (from === wanted) continue;
    for (const link of others)
      if (resolve(from, link).path === wanted) backlinks.push({ path: from, line: link.line, text: link.text });
  }
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

/** What a manager tells a person of its files. What is read for it is kept while it stays the same. */
export function createListedMemory(
  store: ChunkIndex,
  context: MemoryPluginContext,
): Required<Pick<MemorySearchManager, "listFiles" | "describeFile">> {
  const factsOf = createNoteFacts(store);
  return {
    listFiles: (params) => listFiles({ context, store, factsOf }, params),
    async describeFile({ relPath, signal }) {
      const records = (await store.listFiles()).filter(({ source }) => source === "memory");
      return describeFile(relPath, records, await factsOf(records, signal));
    },
  };
}
