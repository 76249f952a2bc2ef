import type { EmbeddingError } from "@memslot/core";
import { spaceName, type VectorSpace } from "../../chunk-store.ts";
import type { FillStop } from "../fill/fill-stop.ts";
import type { JobRecord, JobRecords } from "./job-records.ts";

/** The batch jobs of one space that are on their way, as one run sees them. Begins with those that earlier runs have left. */
export class JobTable {
  readonly #records: JobRecords;
  readonly #running = new Map<JobRecord, { completed: number; isOwn: boolean }>();
  readonly #aside = new Map<JobRecord, EmbeddingError>();
  readonly #away = new Set<string>();

  constructor(records: JobRecords, space: VectorSpace) {
    this.#records = records;
    for (const record of records.list()) if (spaceName(record.space) === spaceName(space)) this.#keep(record, false);
  }

  /** The jobs to ask about. */
  running(): JobRecord[] {
    return [...this.#running.keys()];
  }

  /** A job that this run has submitted. */
  add(record: JobRecord): void {
    this.#keep(record, true);
    this.#records.write(record);
  }

  /** True for a job of this run: the other side has to know it. */
  isOwn(record: JobRecord): boolean {
    return this.#running.get(record)?.isOwn ?? false;
  }

  /** The other side has done so many texts of it. */
  advance(record: JobRecord, completed: number): void {
    const job = this.#running.get(record);
    if (job) job.completed = completed;
  }

  /** It cannot be asked about now; a later run tries again. */
  setAside(record: JobRecord, error: EmbeddingError): void {
    this.#running.delete(record);
    this.#aside.set(record, error);
  }

  /** It is over. False where another process has ended it already. */
  remove(record: JobRecord): boolean {
    this.#running.delete(record);
    for (const hash of record.hashes) this.#away.delete(hash);
    return this.#records.remove(record);
  }

  /** Whether a text is on the other side. */
  holds(hash: string): boolean {
    return this.#away.has(hash);
  }

  /** Estimated tokens of all of them. */
  tokens(): number {
    return sumOf([...this.#running.keys(), ...this.#aside.keys()], ({ tokens }) => tokens);
  }

  /** Texts that are done on the other side. */
  completed(): number {
    return sumOf([...this.#running.values()], ({ completed }) => completed);
  }

  /** Why texts are still without a vector; undefined where no job is left. */
  waiting(): FillStop | undefined {
    const texts = sumOf([...this.#running.keys(), ...this.#aside.keys()], ({ hashes }) => hashes.length);
    if (texts === 0) return undefined;
    const [error] = this.#aside.values();
    const why = error ? `, which cannot be asked about all of them now: ${error.message}` : "";
    return { reason: `${texts} ${texts === 1 ? "text is" : "texts are"} with the provider's batch interface${why}` };
  }

  #keep(record: JobRecord, isOwn: boolean): void {
    this.#running.set(record, { completed: 0, isOwn });
    for (const hash of record.hashes) this.#away.add(hash);
  }
}

function sumOf<T>(items: readonly T[], count: (item: T) => number): number {
  return items.reduce((sum, item) => sum + count(item), 0);
}
