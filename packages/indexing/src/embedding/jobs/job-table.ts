import type { EmbeddingError } from "@memslot/core";
import type { VectorSpace } from "../../chunk-store.ts";
import type { FillStop } from "../fill/fill-stop.ts";
import type { JobRecord, JobRecords } from "./job-records.ts";

/** The batch jobs of one space that are on their way, as one run sees them. */
export interface JobTable {
  /** The jobs to ask about. */
  running(): JobRecord[];
  /** A job that this run has submitted. */
  add(record: JobRecord): void;
  /** True for a job of this run: the other side has to know it. */
  isOwn(record: JobRecord): boolean;
  /** The other side has done so many texts of it. */
  advance(record: JobRecord, completed: number): void;
  /** It cannot be asked about now; a later run tries again. */
  setAside(record: JobRecord, error: EmbeddingError): void;
  /** It is over. False where another process has ended it already. */
  remove(record: JobRecord): boolean;
  /** Whether a text is on the other side. */
  holds(hash: string): boolean;
  /** Estimated tokens of all of them. */
  tokens(): number;
  /** Texts that are done on the other side. */
  completed(): number;
  /** Why texts are still without a vector; undefined where no job is left. */
  waiting(): FillStop | undefined;
}

/** Begins with the jobs of this space that earlier runs have left. */
export function createJobTable(records: JobRecords, space: VectorSpace): JobTable {
  const running = new Map<JobRecord, { completed: number; isOwn: boolean }>();
  const aside = new Map<JobRecord, EmbeddingError>();
  const away = new Set<string>();

  function keep(record: JobRecord, isOwn: boolean): void {
    running.set(record, { completed: 0, isOwn });
    for (const hash of record.hashes) away.add(hash);
  }

  for (const record of records.list()) if (isSame(record.space, space)) keep(record, false);

  return {
    running: () => [...running.keys()],
    add(record) {
      keep(record, true);
      records.write(record);
    },
    isOwn: (record) => running.get(record)?.isOwn ?? false,
    advance(record, completed) {
      const job = running.get(record);
      if (job) job.completed = completed;
    },
    setAside(record, error) {
      running.delete(record);
      aside.set(record, error);
    },
    remove(record) {
      running.delete(record);
      for (const hash of record.hashes) away.delete(hash);
      return records.remove(record);
    },
    holds: (hash) => away.has(hash),
    tokens: () => sumOf([...running.keys(), ...aside.keys()], ({ tokens }) => tokens),
    completed: () => sumOf([...running.values()], ({ completed }) => completed),
    waiting() {
      const texts = sumOf([...running.keys(), ...aside.keys()], ({ hashes }) => hashes.length);
      if (texts === 0) return undefined;
      const [error] = aside.values();
      const why = error ? `, which cannot be asked about all of them now: ${error.message}` : "";
      return { reason: `${texts} ${texts === 1 ? "text is" : "texts are"} with the provider's batch interface${why}` };
    },
  };
}

function sumOf<T>(items: readonly T[], count: (item: T) => number): number {
  return items.reduce((sum, item) => sum + count(item), 0);
}

function isSame(a: VectorSpace, b: VectorSpace): boolean {
  return (
    a.provider === b.provider && a.model === b.model && a.providerKey === b.providerKey && a.dimensions === b.dimensions
  );
}
