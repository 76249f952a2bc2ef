import {
  type ManagerSyncParams,
  type MemoryRootStatus,
  type MemorySource,
  messageOf,
  type SyncReport,
  type Sentence,
} from "@memslot/core";
import { type BatchSize, BatchWriter, StoredListing, type TableWrites } from "./stored-files.ts";
import type { NoteIndex } from "../note-index.ts";
import type { FileRecord } from "../index-row-types.ts";
import type { FileTable } from "../ledger/ledger.ts";
import type { FileKey } from "../chunk-store.ts";
import { recordedState } from "../scan/file-state.ts";
import { outOfDescriptors } from "../scan/open-file.ts";
import type { FolderLook, ScannedFile, ScanResult } from "../scan/scan.ts";
import type { IndexedSource, SourceOutcome, StoredFiles } from "../indexed-source.ts";
import { asSentence, sentence, storedSentence } from "@memslot/core/host";
import { codeOf } from "@memslot/core/files";
import { isUsualGap } from "../scan/survey-notes.ts";
import { createTimeSlices } from "../time-slices.ts";

const readsAtOnce = 8;
export const nothingDone: Omit<SyncReport, "failed"> = { added: 0, changed: 0, removed: 0, unchanged: 0 };
export interface SyncOutcome {
  report: SyncReport;
  roots: MemoryRootStatus[];
  /** By source: how many files there are, and what was skipped or failed. Absent for what was not looked at. */
  sources: ReadonlyMap<MemorySource, SourceOutcome>;
  /** Files in the index have another recipe: a rebuild is due. */
  outdated: boolean;
}

export type OtherRecipe = "reread" | "keep" | "rebuild";

export interface SyncInput {
  table: FileTable & Pick<NoteIndex, "importFiles">;
  listing?: StoredListing | undefined;
  sources: readonly IndexedSource[];
  /** Lists and examines folders. Absent: asks the file system each time. */
  look?: FolderLook | undefined;
  /** Called if a file was indexed by another recipe. Absent: such files are read again. */
  otherRecipe?: (() => Promise<OtherRecipe>) | undefined;
  params: Omit<ManagerSyncParams, "wait">;
  isAsked?: boolean | undefined;
  batch?: BatchSize | undefined;
  /** Called after the scan with the number of changed files, if known without reading. */
  onPlanned?: ((changed: number) => void) | undefined;
  /** Runs the writes under the write lock; throws if unavailable. Absent: no lock. */
  withRight?: ((write: () => Promise<void>) => Promise<void>) | undefined;
}

interface Work {
  source: IndexedSource;
  scan: ScanResult;
  file: ScannedFile;
  before: FileRecord | undefined;
}

interface Plan {
  work: Work[];
  gone: FileKey[];
  unchanged: number;
  outdated: boolean;
}

/** Updates the keyword index of a build. Failing files are reported and skipped. */
export async function syncFiles(input: SyncInput): Promise<SyncOutcome> {
  const { params, table } = input;
  const { signal } = params;
  const listing =
    input.listing ?? new StoredListing({ listFiles: () => table.listFiles(), revision: async () => "unshared" });
  const asked = params.sessions ? input.sources.filter(({ source }) => source === "sessions") : input.sources;
  const scans: { source: IndexedSource; scan: ScanResult }[] = [];
  for (const source of asked)
    scans.push({ source, scan: await source.scan(signal, () => listing.files(), input.look, input.isAsked) });
  const report: SyncReport = { ...nothingDone, failed: scans.flatMap(({ scan }) => scan.failed) };

  let plan = await planSync(input, scans, await listing.files());
  const adopted = await importHeld(plan.work, input);
  if (adopted > 0) {
    listing.forget();
    plan = await planSync(input, scans, await listing.files());
  }
  const unsure = plan.work.filter(isUnsure).length;
  const changed = plan.work.length - unsure + plan.gone.length;
  if (changed > 0 || unsure === 0) input.onPlanned?.(changed);
  if (plan.work.length > 0 || plan.gone.length > 0) {
    const write = async (): Promise<void> => {
      // The previous lock owner may have done everything.
      if (!(await listing.isCurrent())) plan = await planSync(input, scans, await listing.files());
      await carryOut(plan, input, listing.follow(table), report);
    };
    await (input.withRight?.(write) ?? write());
  }
  report.unchanged += plan.unchanged - adopted;
  report.changed += adopted;
  return {
    report,
    roots: scans.flatMap(({ scan }) => scan.roots),
    sources: new Map(scans.map(({ source, scan }) => [source.source, summaryOf(scan, report)])),
    outdated: plan.outdated,
  };
}

/** Whether a file equals its record, without reading it. */
export function isAsStored(file: ScannedFile, before: FileRecord, source: IndexedSource): boolean {
  if (before.mtimeMs !== file.mtimeMs || before.size !== file.size) return false;
  if (file.stamp === undefined) return source.holdsContent === undefined;
  // As a rule the stamp of a note is all that its record keeps of it.
  return file.stamp === before.cursor || file.stamp === recordedState(before).stamp;
}

/** Whether a file is read only because it was saved shortly before its last read. */
function isUnsure({ file, before, source }: Work): boolean {
  if (before === undefined || source.holdsContent === undefined || recordedState(before).stamp !== undefined)
    return false;
  return before.mtimeMs === file.mtimeMs && before.size === file.size;
}

/** Imports files that another host has indexed in the same form, without a lease. */
async function importHeld(work: readonly Work[], { table, params: { signal } }: SyncInput): Promise<number> {
  const unread = table.importFiles ? work.filter(({ before }) => before?.hash === "") : [];
  let adopted = 0;
  const replaceFiles: FileTable["replaceFiles"] = async (files) => {
    adopted += (await table.importFiles?.(files)) ?? 0;
  };
  const writer = new BatchWriter({ replaceFiles, touchFiles: async () => undefined });
  await forEachAtOnce(unread, readsAtOnce, async ({ source, file }) => {
    const reading = await source.read(file, undefined, signal).catch(() => undefined);
    if (reading?.changed && reading.more !== true) await writer.replace(reading.changed);
  });
  await writer.flush();
  signal.throwIfAborted();
  return adopted;
}

/** Files without a reliable stamp whose content equals their record. */
async function readToCompare(
  source: IndexedSource,
  files: readonly ScannedFile[],
  own: ReadonlyMap<string, FileRecord>,
  { force, signal }: SyncInput["params"],
): Promise<ReadonlySet<ScannedFile>> {
  const same = new Set<ScannedFile>();
  const unsure = force ? [] : files.filter(({ stamp }) => stamp === undefined);
  await forEachAtOnce(unsure, readsAtOnce, async (file) => {
    const before = own.get(file.path);
    if (before === undefined || before.size !== file.size) return;
    try {
      if ((await source.holdsContent?.(file, before, signal)) === true) same.add(file);
    } catch {
      signal.throwIfAborted();
    }
  });
  return same;
}

async function planSync(
  { sources, params, ...input }: SyncInput,
  scans: readonly { source: IndexedSource; scan: ScanResult }[],
  stored: StoredFiles,
): Promise<Plan> {
  let otherRecipe: OtherRecipe | undefined;
  const plan: Plan = { work: [], gone: [], unchanged: 0, outdated: false };
  const slices = createTimeSlices(params.signal, { background: true });
  for (const { source, scan } of scans) {
    const own = stored.get(source.source) ?? new Map<string, FileRecord>();
    let known = 0;
    scan.waiting = 0;
    const compared = await readToCompare(source, scan.files, own, params);
    for (const file of scan.files) {
      if (slices.isOver()) await slices.pause();
      const before = own.get(file.path);
      if (before) known++;
      const isOther = before !== undefined && before.recipe !== source.recipe;
      if (isOther) otherRecipe ??= (await input.otherRecipe?.()) ?? "reread";
      const same =
        !params.force &&
        before !== undefined &&
        (compared.has(file) || isAsStored(file, before, source)) &&
        !(isOther && otherRecipe === "reread");
      const waits = !same && (await source.isDue?.(file, before, params)) === false;
      if (waits) scan.waiting++;
      if (same || waits) {
        plan.unchanged++;
        if (before) noteSkipped(before, source, scan);
      } else plan.work.push({ source, scan, file, before });
    }
    // With given transcripts, others were not scanned.
    if (params.sessions) continue;
    // Equal counts mean that no file is gone.
    if (known === own.size) continue;
    const present = new Set(scan.files.map(({ path }) => path));
    for (const file of own.values()) {
      if (!present.has(file.path) && !isUnknown(file.path, scan))
        plan.gone.push({ path: file.path, source: source.source });
    }
  }
  plan.outdated = otherRecipe === "rebuild";
  if (params.sessions) return plan;
  const wanted = new Set(sources.map(({ source }) => source));
  for (const [source, files] of stored)
    if (!wanted.has(source)) for (const path of files.keys()) plan.gone.push({ path, source });
  return plan;
}

/** Places that could not be scanned are not removed. */
function isUnknown(path: string, { unknown }: ScanResult): boolean {
  return unknown.some((prefix) => path === prefix || (prefix.endsWith("/") && path.startsWith(prefix)));
}

async function carryOut(
  { work, gone }: Plan,
  { params, batch }: SyncInput,
  table: TableWrites,
  report: SyncReport,
): Promise<void> {
  const { signal } = params;
  const writer = new BatchWriter(table, batch);
  let completed = 0;
  if (work.length > 0) params.progress({ completed, total: work.length });
  try {
    await forEachAtOnce(work, readsAtOnce, async (item) => {
      try {
        const outcome = await readInto(writer, item, params);
        if (outcome === "gone" && item.before) gone.push({ path: item.file.path, source: item.source.source });
        if (outcome === "unchanged") report.unchanged++;
        if (outcome === "changed" && item.before) report.changed++;
        if (outcome === "changed" && !item.before) report.added++;
      } catch (error) {
        if (signal.aborted || writer.failure !== undefined) throw error;
        report.failed.push({ path: item.file.path, ...readFailure(error) });
      }
      completed++;
      params.progress({ completed, total: work.length, label: item.file.path });
    });
    await writer.flush();
  } catch (error) {
    await writer.settled();
    throw writer.failure === undefined ? error : writer.failure.error;
  }
  signal.throwIfAborted();
  // After additions, so that a renamed file finds its vectors.
  if (gone.length > 0) await table.removeFiles(gone);
  report.removed = gone.length;
}

async function readInto(
  writer: BatchWriter,
  { source, scan, file, before }: Work,
  { force, signal }: SyncInput["params"],
): Promise<"gone" | "changed" | "unchanged"> {
  let known = force ? undefined : before;
  let changed = false;
  for (;;) {
    signal.throwIfAborted();
    const reading = await source.read(file, known, signal);
    if (!reading) return changed ? "changed" : "gone";
    noteSkipped(reading.record, source, scan);
    if (reading.changed) await writer.replace(reading.changed);
    else await writer.touch(reading.record);
    changed ||= reading.changed !== undefined;
    if (reading.more !== true) return changed ? "changed" : "unchanged";
    known = reading.record;
  }
}

function noteSkipped(record: FileRecord, source: IndexedSource, scan: ScanResult): void {
  const issue = source.issueOf?.(record);
  if (issue !== undefined) scan.issues.set(record.path, issue);
  const { skipped } = recordedState(record);
  if (skipped === undefined || scan.roots.some(({ path }) => path === record.path)) return;
  const why = storedSentence(skipped);
  scan.roots.push({ path: record.path, state: "skipped", ...why });
  scan.excluded.push({ path: record.path, ...why });
}

function summaryOf(scan: ScanResult, report: SyncReport): SourceOutcome {
  const paths = new Set(report.failed.length > 0 ? scan.files.map(({ path }) => path) : []);
  const failed = report.failed.filter(
    ({ path }) => paths.has(path) || scan.failed.some((other) => other.path === path),
  );
  const skipped = scan.roots.filter((root) => root.state === "skipped" && !isUsualGap(root));
  const partly = [...scan.issues].map(([path, reason]) => ({ path, reason }));
  return {
    eligible: scan.files.length,
    waiting: scan.waiting,
    excluded: [...new Map([...failed, ...scan.excluded].map((each) => [each.path, each])).values()],
    accepted: [...scan.accepted],
    unreadPlaces: [...new Set([...failed.map(({ path }) => path), ...scan.unknown])],
    issues: [...failed, ...skipped, ...partly].map(({ path, reason }) =>
      reason === undefined ? path : `${path}: ${reason}`,
    ),
  };
}

export function readFailure(error: unknown): Sentence {
  const code = codeOf(error);
  if (code === "EACCES" || code === "EPERM") return sentence("file.permission");
  if (code === "ELOOP") return sentence("file.link");
  return asSentence(outOfDescriptors(error) ?? messageOf(error));
}

async function forEachAtOnce<T>(items: readonly T[], atOnce: number, work: (item: T) => Promise<void>): Promise<void> {
  // An iterator: a promise per item would take more memory than the items.
  const rest = items.values();
  let failure: { error: unknown } | undefined;
  const worker = async (): Promise<void> => {
    for (const item of rest)
      if (failure === undefined) await work(item).catch((error: unknown) => (failure ??= { error }));
  };
  await Promise.all(Array.from({ length: atOnce }, worker));
  if (failure) throw failure.error;
}
