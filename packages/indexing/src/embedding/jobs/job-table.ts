import { createHash } from "node:crypto";
import { readdirSync, readFileSync, rmSync } from "node:fs";
import path from "node:path";
import { type EmbeddingError, type EmbeddingStatus, messageOf } from "@memslot/core";
import { codeOf, replaceFileSync } from "@memslot/core/files";
import { spaceName, type VectorSpace } from "../../chunk-store.ts";

/** A batch job that was submitted and not collected yet, as it is kept on disk. */
export interface JobRecord {
  /** The name that the other side gave it. */
  job: string;
  agentId: string;
  /** Names provider and model too. */
  space: VectorSpace;
  /** What the texts of the job are, in their order. */
  hashes: string[];
  /** Estimated, of all texts. */
  tokens: number;
  /** Jobs that had failed before these texts were submitted. */
  failures: number;
  /** ISO 8601. */
  submittedAt: string;
}

interface JobFolder {
  stateDir: string;
  agentId: string;
  /** Told of files that cannot be read or written, which are skipped. */
  notify: (line: string) => void;
}

interface RunningJob {
  /** Texts that are done on the other side. */
  completed: number;
  /** Submitted by this run. */
  isOwn: boolean;
  /** Why it cannot be asked about now. */
  error?: EmbeddingError;
}

/** The batch jobs of one space that are on their way, as one run sees them. Begins with those that earlier runs have left. */
export class JobTable {
  readonly #folder: JobFolder;
  readonly #jobs = new Map<JobRecord, RunningJob>();
  readonly #away = new Set<string>();
  /** Records that could not be written: they count as long as this process lasts. */
  readonly #unwritten = new Set<JobRecord>();

  constructor(folder: JobFolder, space: VectorSpace) {
    this.#folder = folder;
    for (const record of readJobs(folder))
      if (spaceName(record.space) === spaceName(space)) this.#keep(record, { completed: 0, isOwn: false });
  }

  /** The jobs to ask about. */
  running(): JobRecord[] {
    return [...this.#jobs].flatMap(([record, { error }]) => (error ? [] : [record]));
  }

  /** A job that this run has submitted. */
  add(record: JobRecord): void {
    this.#keep(record, { completed: 0, isOwn: true });
    try {
      replaceFileSync(fileOf(this.#folder, record), `${JSON.stringify(record)}\n`);
    } catch (error) {
      this.#unwritten.add(record);
      this.#folder.notify(
        `the batch job ${record.job} cannot be written down, so that its texts are sent again after a restart: ${messageOf(error)}`,
      );
    }
  }

  /** True for a job of this run: the other side has to know it. */
  isOwn(record: JobRecord): boolean {
    return this.#jobs.get(record)?.isOwn ?? false;
  }

  /** The other side has done so many texts of it. */
  advance(record: JobRecord, completed: number): void {
    const job = this.#jobs.get(record);
    if (job) job.completed = completed;
  }

  /** It cannot be asked about now; a later run tries again. */
  setAside(record: JobRecord, error: EmbeddingError): void {
    this.#jobs.delete(record);
    this.#jobs.set(record, { completed: 0, isOwn: false, error });
  }

  /** It is over. False where another process has ended it already. */
  remove(record: JobRecord): boolean {
    this.#jobs.delete(record);
    for (const hash of record.hashes) this.#away.delete(hash);
    if (this.#unwritten.delete(record)) return true;
    const file = fileOf(this.#folder, record);
    try {
      rmSync(file);
    } catch (error) {
      if (codeOf(error) === "ENOENT") return false;
      this.#folder.notify(`${file} cannot be deleted: ${messageOf(error)}`);
    }
    return true;
  }

  /** Whether a text is on the other side. */
  holds(hash: string): boolean {
    return this.#away.has(hash);
  }

  /** Estimated tokens of all of them. */
  tokens(): number {
    return sumOf([...this.#jobs.keys()], ({ tokens }) => tokens);
  }

  /** Texts that are done on the other side. */
  completed(): number {
    return sumOf([...this.#jobs.values()], ({ completed }) => completed);
  }

  /** Why texts are still without a vector; undefined where no job is left. */
  waiting(): { reason: string } | undefined {
    const texts = sumOf([...this.#jobs.keys()], ({ hashes }) => hashes.length);
    if (texts === 0) return undefined;
    const error = [...this.#jobs.values()].find((job) => job.error)?.error;
    const why = error ? `, which cannot be asked about all of them now: ${error.message}` : "";
    return { reason: `${texts} ${texts === 1 ? "text is" : "texts are"} with the provider's batch interface${why}` };
  }

  #keep(record: JobRecord, job: RunningJob): void {
    this.#jobs.set(record, job);
    for (const hash of record.hashes) this.#away.add(hash);
  }
}

/** The jobs of an agent that are on their way, the oldest first. Reads one file for each. */
export function listBatchJobs(of: Omit<JobFolder, "notify">): NonNullable<EmbeddingStatus["jobs"]> {
  const records = readJobs({ ...of, notify: () => undefined });
  return records.map(({ job, hashes, submittedAt }) => ({ id: job, texts: hashes.length, submittedAt }));
}

function readJobs({ stateDir, agentId, notify }: JobFolder): JobRecord[] {
  const folder = jobsFolder(stateDir);
  const read = (name: string): JobRecord | undefined => {
    const file = path.join(folder, name);
    try {
      const record: unknown = JSON.parse(readFileSync(file, "utf8"));
      if (isRecord(record)) return record;
      notify(`${file} is no record of a batch job and is passed over; delete it`);
    } catch (error) {
      // Another process may have collected the job meanwhile.
      if (codeOf(error) !== "ENOENT") notify(`${file} cannot be read and is passed over: ${messageOf(error)}`);
    }
    return undefined;
  };
  return namesIn(folder)
    .flatMap((name) => read(name) ?? [])
    .filter((record) => record.agentId === agentId)
    .toSorted((a, b) => (ageOf(a) < ageOf(b) ? -1 : 1));
}

function jobsFolder(stateDir: string): string {
  return path.join(stateDir, "embeddings", "jobs");
}

function fileOf({ stateDir, agentId }: JobFolder, { job, space }: JobRecord): string {
  const name = createHash("sha256").update(`${space.provider}\0${agentId}\0${job}`).digest("hex").slice(0, 32);
  return path.join(jobsFolder(stateDir), `${name}.json`);
}

/** Names the order; jobs of one moment have one too. */
function ageOf({ submittedAt, job }: JobRecord): string {
  return `${submittedAt} ${job}`;
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder).filter((name) => name.endsWith(".json"));
  } catch {
    // There is none before the first job.
    return [];
  }
}

function isRecord(value: unknown): value is JobRecord {
  if (typeof value !== "object" || value === null) return false;
  const { job, agentId, space, hashes, tokens, failures, submittedAt } = value as Partial<JobRecord>;
  return (
    Array.isArray(hashes) &&
    [job, agentId, ...hashes].every((text) => typeof text === "string") &&
    [tokens, failures].every((count) => typeof count === "number") &&
    typeof (space ?? "") === "object" &&
    Number.isFinite(Date.parse(submittedAt ?? ""))
  );
}

function sumOf<T>(items: readonly T[], count: (item: T) => number): number {
  return items.reduce((sum, item) => sum + count(item), 0);
}
