import pLimit from "p-limit";
import path from "node:path";
import { createRest, isAbort, messageOf, withDeadline } from "@memslot/core";
import { type Collection, collectionsWith, everyNote } from "./collections.ts";
import { emptyIndex, hasIndex } from "./index-state.ts";
import { writeIndexYaml } from "./index-yaml.ts";
import type { Ledger, LedgerFile } from "./ledger.ts";
import type { QmdOptions } from "../settings/options.ts";
import { QmdFailure, type QmdIndexStatus, type QmdProcess } from "../qmd-contract.ts";

/** After an update that failed; twice as long with each further one, up to the second. */
const firstRestMs = 30_000;
const longestRestMs = 600_000;

export interface UpdateFacts {
  /** What the last update failed of; nothing where it went well. */
  lastError?: { error: unknown; message: string; at: string } | undefined;
  /** What the index held when it was asked last. */
  index?: QmdIndexStatus | undefined;
}

/** Tells qmd what has changed: in the background and never for a search, or at once where somebody waits for it. */
export interface Updates {
  /** Something has changed. It is told after a while, together with what comes until then; `soon`: without waiting. */
  request(when: "later" | "soon"): void;
  /** Brings the index up to date with the ledger as it is now. `force`: it is made anew from nothing. */
  now(params: { force: boolean; signal: AbortSignal }): Promise<void>;
  /** The index cannot be read, or holds nothing of what it should: it is made anew behind whoever asks. */
  lost(damaged: boolean): void;
  /** `index.yml` is written anew and read again by qmd; whoever asked may ask once more. */
  restoreCollections(): Promise<void>;
  /** What of the ledger the index of qmd does not have as it is. */
  unseen(): readonly LedgerFile[];
  collections(): readonly Collection[];
  /** Asks qmd what its index holds. */
  look(signal: AbortSignal): Promise<QmdIndexStatus>;
  /** Whether a collection is empty that these files were read into. */
  isEmptied(status: QmdIndexStatus, files: readonly LedgerFile[]): boolean;
  facts(): UpdateFacts;
  close(): Promise<void>;
}

export function createUpdates(input: {
  folder: string;
  workspaceDir: string;
  ledger: Ledger;
  process: QmdProcess;
  options: QmdOptions["update"];
  collections: () => Collection[];
  /** Nothing is told to qmd and nothing is written, for somebody who only looks. */
  readOnly: boolean;
  /** After an update that went well. */
  onUpdated: () => void;
}): Updates {
  const { folder, workspaceDir, ledger, process, options } = input;
  const closing = new AbortController();
  const inTurn = pLimit(1);
  const facts: UpdateFacts = {};
  let collections = input.collections();
  let timer: { handle: NodeJS.Timeout; at: number } | undefined;
  let queued: Promise<void> | undefined;
  /** What was not seen when the ledger was looked through last. */
  let known: { revision: string; collections: readonly Collection[]; files: readonly LedgerFile[] } | undefined;
  let failures = 0;
  const rest = createRest<unknown>();
  let damaged = false;
  let lost = false;
  if (!hasIndex(folder) && ledger.files().some(({ seen }) => seen !== undefined)) ledger.forgetSeen();

  function unseen(): readonly LedgerFile[] {
    const revision = ledger.revision();
    if (known?.revision !== revision || known.collections !== collections) {
      const files = ledger
        .files()
        .filter((file) => file.seen !== file.hash || (file.source === "memory" && isPassedOver(file.path)));
      known = { revision, collections, files };
    }
    return known.files;
  }

  /** True for a note that qmd does not index, whatever it is told, or where it has found nothing in all of a folder. */
  function isPassedOver(shown: string): boolean {
    const { empty } = ledger.facts();
    return collectionsWith(collections, path.resolve(workspaceDir, shown)).every(({ name }) => empty.includes(name));
  }

  /** Collections that are to be read and that qmd does not tell of: it tells of none without documents. */
  function emptyOf(status: QmdIndexStatus | undefined): string[] {
    if (status === undefined) return [];
    const holding = new Set(status.collections.filter(({ documents }) => documents > 0).map(({ name }) => name));
    return collections.flatMap(({ name }) => (holding.has(name) ? [] : [name]));
  }

  /** Whether an update would change anything, as far as is known. */
  function isBehind(): boolean {
    if (lost || process.isTorn() || !hasIndex(folder) || ledger.facts().gone.length > 0) return true;
    return ledger.files().some((file) => file.seen !== file.hash);
  }

  async function update(force: boolean, signal: AbortSignal): Promise<void> {
    collections = input.collections();
    const isNew = writeIndexYaml(folder, collections, false);
    if (!force && !isNew && !isBehind()) return;
    const started = performance.now();
    const anew = async (how: { damaged: boolean }): Promise<void> => {
      // Vectors take minutes to make: whether there are some is asked where it is not known.
      if (facts.index === undefined && !how.damaged && hasIndex(folder)) await lookSafely(signal);
      const keepVectors = facts.index?.hasVectorIndex === true;
      await emptyIndex({ folder, process, ledger, collections, keepVectors, signal, ...how });
    };
    if (force || lost || damaged || process.isTorn()) await anew({ damaged });
    const before = ledger.snapshot();
    const hadGone = ledger.facts().gone.length > 0;
    await updateOnce(anew, signal);
    if (hadGone) await process.cleanup(signal);
    if (isNew) await process.restart();
    let status = await lookSafely(signal);
    if (isEmptied(status, ledger.files())) {
      // It has read the folders and holds nothing of them.
      await anew({ damaged: false });
      await process.update({ files: before.size, signal });
      status = await lookSafely(signal);
      if (isEmptied(status, ledger.files()))
        throw new QmdFailure("qmd_error", `qmd has indexed none of ${before.size} notes`, {
          action: `see what \`QMD_CONFIG_DIR=${folder} INDEX_PATH=${path.join(folder, "index.sqlite")} qmd status\` says`,
        });
    }
    lost = false;
    damaged = false;
    const updateMs = Math.round(performance.now() - started);
    ledger.markSeen(before, { updatedAt: new Date().toISOString(), updateMs, empty: emptyOf(status) });
    ledger.save();
  }

  /** One update, and another one where what was wrong could be put right. */
  async function updateOnce(anew: (how: { damaged: boolean }) => Promise<void>, signal: AbortSignal): Promise<void> {
    const run = (): Promise<void> => process.update({ files: ledger.files().length, signal });
    try {
      await run();
    } catch (error) {
      if (!(error instanceof QmdFailure)) throw error;
      if (error.reason === "index_damaged") await anew({ damaged: true });
      else if (error.reason === "unknown_collection" || error.reason === "config_broken")
        writeIndexYaml(folder, collections, true);
      else throw error;
      await run();
    }
    if (process.isTorn()) {
      await anew({ damaged: false });
      await run();
    }
  }

  /** Whether a folder is empty to qmd that these notes were read from: what a pattern fits may be read otherwise. */
  function isEmptied(status: QmdIndexStatus | undefined, files: readonly LedgerFile[]): boolean {
    const empty = new Set(emptyOf(status));
    return files
      .filter(({ source, chunks }) => source === "memory" && chunks > 0)
      .flatMap((file) => collectionsWith(collections, path.resolve(workspaceDir, file.path)).slice(0, 1))
      .some(({ name, pattern }) => pattern === everyNote && empty.has(name));
  }

  async function look(signal: AbortSignal): Promise<QmdIndexStatus> {
    facts.index = await process.status(signal);
    return facts.index;
  }

  /** An update whose result cannot be counted has been made all the same. */
  async function lookSafely(signal: AbortSignal): Promise<QmdIndexStatus | undefined> {
    try {
      return await look(signal);
    } catch (error) {
      if (!(error instanceof QmdFailure) || signal.aborted) throw error;
      return undefined;
    }
  }

  async function run(force: boolean, given: AbortSignal): Promise<void> {
    const signal = AbortSignal.any([given, closing.signal]);
    try {
      signal.throwIfAborted();
      await update(force, signal);
      failures = 0;
      rest.end();
      facts.lastError = undefined;
      input.onUpdated();
    } catch (error) {
      if (!isAbort(error) && !signal.aborted) {
        rest.start(error, Math.min(longestRestMs, firstRestMs * 2 ** failures));
        failures++;
        facts.lastError = { error, message: messageOf(error), at: new Date().toISOString() };
      }
      throw error;
    }
  }

  function request(when: "later" | "soon"): void {
    if (closing.signal.aborted || input.readOnly) return;
    const restMs = rest.current()?.remainingMs ?? 0;
    const at = Date.now() + Math.max(restMs, when === "soon" ? 0 : options.debounceMs);
    if (timer !== undefined && timer.at <= at) return;
    clearTimeout(timer?.handle);
    const handle = setTimeout(
      () => {
        timer = undefined;
        queued ??= inTurn(async () => {
          queued = undefined;
          await run(false, closing.signal);
        }).catch((error: unknown) => {
          // What failed is in the facts, and is tried again.
          if (!closing.signal.aborted && !isAbort(error)) request("soon");
        });
      },
      Math.max(0, at - Date.now()),
    ).unref();
    timer = { handle, at };
  }

  return {
    request,
    async now({ force, signal }) {
      if (input.readOnly) return;
      // Whoever gives up waiting for its turn is told at once.
      await withDeadline({ what: "an update of qmd", signals: [signal] }, (inner) => inTurn(() => run(force, inner)));
    },
    lost(isDamaged) {
      lost = true;
      damaged ||= isDamaged;
      ledger.forgetSeen();
      request("soon");
    },
    async restoreCollections() {
      collections = input.collections();
      if (!input.readOnly) writeIndexYaml(folder, collections, true);
      await process.restart();
      request("soon");
    },
    unseen,
    collections: () => collections,
    look,
    isEmptied,
    facts: () => ({ ...facts }),
    async close() {
      clearTimeout(timer?.handle);
      closing.abort();
      await inTurn(async () => undefined);
    },
  };
}
