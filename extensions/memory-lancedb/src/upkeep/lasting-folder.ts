import type { Connection } from "@lancedb/lancedb";
import { MemoryError } from "@memslot/core";
import { reasonOf } from "../lance/store-failure.ts";
import { type Run } from "../place/place.ts";
import { createFolderRecord, setTablesAside } from "./folder-record.ts";
import { whyUnreadable } from "./readable.ts";

/** A disk that damages what is written to it is not fought for ever. */
const maxRepairs = 3;
/** After so long without a write the folder is recorded as it is. */
const quietMs = 500;
const differing = "its files are not those that were written";

/** A folder of this machine whose index outlives damage. */
export interface LastingFolder {
  /**
   * Makes calls. Where one meets files that are missing or are not what was written, the tables are set aside and the
   * index is begun anew, empty. A call that lists what there is is made on that; any other one throws `UNAVAILABLE`.
   */
  run: Run;
  /** Runs what writes or deletes files: what they were does not count any more. */
  changing<Result>(work: () => Promise<Result>): Promise<Result>;
  /** Looks for damage before the first call, and says whether there was any. */
  checkAtFirst(): Promise<boolean>;
  /** Records the folder. `close` closes the tables first. */
  close(close: () => Promise<void>): Promise<void>;
}

export function createLastingFolder(input: {
  folder: string;
  connection: Connection;
  run: Run;
  /** Takes a line for each repair. */
  notices: string[];
}): LastingFolder {
  const { folder, connection } = input;
  const record = createFolderRecord(folder);
  let repairs = 0;
  let busy = 0;
  let repairing: Promise<string | undefined> | undefined;
  let timer: NodeJS.Timeout | undefined;
  let isClosed = false;

  async function write(): Promise<void> {
    // What cannot be recorded is believed as it is.
    if (busy === 0) await record.write().catch(() => undefined);
  }

  async function setAside(reason: string): Promise<string> {
    repairs++;
    const aside = await record.changing(() => setTablesAside(folder));
    input.notices.push(
      `the index ${folder} was damaged (${reason}) and is made anew from the notes; the damaged tables are kept in ${aside} and can be deleted`,
    );
    return reason;
  }

  /** One repair for all calls that meet the same damage. Gives what was found; undefined where nothing is. */
  function repair(find: () => Promise<string | undefined>): Promise<string | undefined> {
    repairing ??= (async () => {
      const reason = isClosed ? undefined : await find();
      if (reason === undefined || repairs < maxRepairs) return reason && (await setAside(reason));
      throw new MemoryError(
        "UNAVAILABLE",
        `the index ${folder} is damaged again and again (${reason}); look whether its disk is sound`,
      );
    })().finally(() => (repairing = undefined));
    return repairing;
  }

  async function whyDamaged(error: unknown): Promise<string | undefined> {
    if ((await record.compare(true)) === "differs") return differing;
    return (await whyUnreadable(connection)) === undefined ? undefined : reasonOf(error);
  }

  return {
    async run(task) {
      const isSuspect = repairing !== undefined || (busy === 0 && !record.looksSame());
      const looked = async (): Promise<string | undefined> =>
        (await record.compare(false)) === "differs" ? differing : undefined;
      const found = isSuspect ? await repair(looked) : undefined;
      if (found !== undefined) {
        task.forget();
        if (!task.isListing) throw begunAnew(folder, found);
      }
      try {
        return await input.run(task);
      } catch (error) {
        if (!MemoryError.is(error, "UNAVAILABLE")) throw error;
        const reason = await repair(() => whyDamaged(error));
        if (reason === undefined) throw error;
        task.forget();
        if (!task.isListing) throw begunAnew(folder, reason, error);
        return await input.run(task);
      }
    },
    async changing(work) {
      busy++;
      clearTimeout(timer);
      try {
        return await record.changing(work);
      } finally {
        busy--;
        if (busy === 0 && !isClosed) timer = setTimeout(() => void write(), quietMs).unref();
      }
    },
    async checkAtFirst() {
      const found = await record.compare(true);
      const error = found === "unknown" ? await whyUnreadable(connection) : undefined;
      const reason = error === undefined ? differing : reasonOf(error);
      if (found === "same" || (found === "unknown" && error === undefined)) return false;
      await setAside(reason);
      return true;
    },
    async close(close) {
      isClosed = true;
      clearTimeout(timer);
      const was = await record.compare(false).catch(() => "unknown");
      await close();
      // A folder that is not what it was stays as it is, for the next one to see.
      if (was === "unknown") await write();
    },
  };
}

function begunAnew(folder: string, reason: string, cause?: unknown): MemoryError {
  return new MemoryError(
    "UNAVAILABLE",
    `the index ${folder} was damaged (${reason}) and is begun anew; it is whole again after \`memslot memory index\``,
    { cause },
  );
}
