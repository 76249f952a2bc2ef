import { createHash } from "node:crypto";
import { readdirSync, readFileSync, rmSync } from "node:fs";
import path from "node:path";
import { type EmbeddingStatus, messageOf } from "@memslot/core";
import { codeOf, replaceFileSync } from "@memslot/core/files";
import type { VectorSpace } from "../../chunk-store.ts";

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

/** The jobs of one agent. What cannot be read is left out, what cannot be written is told to `notify` and goes on without. */
export interface JobRecords {
  /** The oldest first. */
  list(): JobRecord[];
  write(record: JobRecord): void;
  /** False where it was gone already: somebody else has collected the job. */
  remove(record: JobRecord): boolean;
}

export function openJobRecords(options: {
  stateDir: string;
  agentId: string;
  notify: (line: string) => void;
}): JobRecords {
  const { stateDir, agentId, notify } = options;
  const folder = path.join(stateDir, "embeddings", "jobs");
  /** Records that could not be written: they count as long as this process lasts. */
  const unwritten = new Set<string>();

  function fileOf({ job, space }: JobRecord): string {
    const name = createHash("sha256").update(`${space.provider}\0${agentId}\0${job}`).digest("hex").slice(0, 32);
    return path.join(folder, `${name}.json`);
  }

  function read(name: string): JobRecord | undefined {
    const file = path.join(folder, name);
    try {
      const record: unknown = JSON.parse(readFileSync(file, "utf8"));
      if (isRecord(record)) return record;
      notify(`${file} is no record of a batch job and is passed over; delete it`);
    } catch (error) {
      // Somebody else may have collected the job meanwhile.
      if (codeOf(error) !== "ENOENT") notify(`${file} cannot be read and is passed over: ${messageOf(error)}`);
    }
    return undefined;
  }

  return {
    list() {
      return namesIn(folder)
        .flatMap((name) => read(name) ?? [])
        .filter((record) => record.agentId === agentId)
        .toSorted((a, b) => (ageOf(a) < ageOf(b) ? -1 : 1));
    },

    write(record) {
      const file = fileOf(record);
      try {
        replaceFileSync(file, `${JSON.stringify(record)}\n`);
      } catch (error) {
        unwritten.add(file);
        notify(
          `the batch job ${record.job} cannot be written down, so that its texts are sent again after a restart: ${messageOf(error)}`,
        );
      }
    },

    remove(record) {
      const file = fileOf(record);
      if (unwritten.delete(file)) return true;
      try {
        rmSync(file);
        return true;
      } catch (error) {
        if (codeOf(error) === "ENOENT") return false;
        notify(`${file} cannot be deleted: ${messageOf(error)}`);
        return true;
      }
    },
  };
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

/** The jobs of an agent that are on their way, the oldest first. Reads one file for each. */
export function listBatchJobs(of: { stateDir: string; agentId: string }): NonNullable<EmbeddingStatus["jobs"]> {
  const records = openJobRecords({ ...of, notify: () => undefined }).list();
  return records.map(({ job, hashes, submittedAt }) => ({ id: job, texts: hashes.length, submittedAt }));
}
