import { existsSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { SerialQueue } from "@memslot/core";
import { isRunning } from "@memslot/core/process-mark";
import { QmdFailure, type QmdLimits, type QmdProcessState } from "../qmd-contract.ts";
import type { CommandLine, Work } from "./command-line.ts";
import type { RunResult } from "./child/run-once.ts";

export interface IndexWorkOptions {
  commandLine: CommandLine;
  folder: string;
  limits: QmdLimits;
  onNoise(line: string): void;
}

/** What changes the index of qmd: one piece at a time, over all processes that use the same folder. */
export interface IndexWork {
  update(files: number, signal: AbortSignal): Promise<void>;
  embed(minutes: number, signal: AbortSignal): Promise<boolean>;
  cleanup(signal: AbortSignal): Promise<void>;
  activity(): QmdProcessState["activity"];
  isTorn(): boolean;
  mended(): void;
  /** When none of it runs. */
  idle(): Promise<void>;
}

/** After the first try. */
const retries = 3;
/** An embed stops by itself at its cap; this much later it is stopped. */
const embedExtraMs = 60_000;

export function createIndexWork({ commandLine, folder, limits, onNoise }: IndexWorkOptions): IndexWork {
  const lock = join(folder, "work.lock");
  const marker = join(folder, "update.unfinished");
  const turns = new SerialQueue();
  let activity: QmdProcessState["activity"];
  let isTorn = wasLeft(marker);

  function take(name: NonNullable<typeof activity>, work: Omit<Work, "what">): Promise<RunResult> {
    return turns.run(async () => {
      activity = name;
      try {
        return await withRetries({ ...work, what: `qmd ${name}` });
      } finally {
        activity = undefined;
      }
    }, work.signal);
  }

  async function withRetries(work: Work): Promise<RunResult> {
    for (let failed = 0; ; failed++) {
      try {
        return await once(work);
      } catch (error) {
        if (!(error instanceof QmdFailure) || error.reason !== "index_busy" || failed === retries) throw error;
      }
      // Two hosts that were refused together do not come again together.
      await sleep(limits.busyRetryMs * 2 ** failed * (0.5 + Math.random()), undefined, { signal: work.signal });
    }
  }

  /** Notes whether an update was killed, this one or one that was left unfinished before. */
  async function once(work: Work): Promise<RunResult> {
    const result = await commandLine.write({ ...work, onEnd: (end) => (isTorn ||= end.isTorn) }, lock);
    isTorn ||= result.wasTorn;
    return result;
  }

  return {
    async update(files, signal) {
      const deadlineMs = limits.updateBaseMs + files * limits.updatePerFileMs;
      const args = ["update", "--index", "index"];
      const { stdout, stderr } = await take("update", { work: "update", args, deadlineMs, signal, marker });
      if (/^\s*No collections found\b/m.test(stdout))
        throw new QmdFailure("unknown_collection", "qmd update found no collections, though index.yml names them");
      for (const line of stderr.split("\n")) if (/skipp/i.test(line)) onNoise(line.trim());
    },

    async embed(minutes, signal) {
      const args = ["embed", "--index", "index", "--timeout", String(minutes)];
      const deadlineMs = minutes * 60_000 + embedExtraMs;
      const { stdout, stderr } = await take("embed", { work: "embed", args, deadlineMs, signal });
      return !/Another embed process is already running/.test(`${stdout}\n${stderr}`);
    },

    async cleanup(signal) {
      const args = ["cleanup", "--index", "index"];
      await take("cleanup", { work: "update", args, deadlineMs: limits.updateBaseMs, signal });
    },

    activity: () => activity,
    isTorn: () => isTorn,
    mended() {
      isTorn = false;
      rmSync(marker, { force: true });
    },
    idle: () => turns.settled(),
  };
}

/** Whether an update was begun and the one who kept it is gone. It writes its process id into the marker. */
function wasLeft(marker: string): boolean {
  if (!existsSync(marker)) return false;
  return isRunning(readFileSync(marker, "utf8").trim()) !== true;
}
