import { createRest, messageOf } from "@memslot/core";
import type { QmdOptions } from "../settings/options.ts";
import { QmdFailure, type QmdProcess } from "../qmd-contract.ts";

/** How long questions are answered by words alone after a model was too slow or has failed. */
const restMs = 600_000;
/** How long the answer to "are the models there" holds, where they are not. */
const lookAgainMs = 60_000;
/** Ends of qmd under a question by meaning, after which no other is asked while this memory is open. */
const crashesAllowed = 3;

/** Whether a question may be asked by meaning now. */
type MeaningState =
  | { use: true }
  /** `reason` is absent where the configuration does not ask for it. */
  | { use: false; reason?: string | undefined; action?: string | undefined };

/** Searches by meaning, with models that are on this machine. Nothing is ever fetched. */
export interface Meaning {
  readonly isWanted: boolean;
  /** Looks for the models where that is due, and sets qmd to it. `hasVectors`: whether the index holds any. */
  prepare(hasVectors: boolean | undefined): Promise<MeaningState>;
  /** A question by meaning has failed: they rest. Gives the reason. */
  failed(error: unknown): string;
  /** What is known without looking. */
  state(): { wanted: boolean; modelsPresent: boolean | undefined; resting?: string | undefined };
}

export function createMeaning(input: {
  options: Pick<QmdOptions, "searchMode">;
  process: QmdProcess;
  modelsPresent: () => Promise<boolean>;
}): Meaning {
  const { options, process } = input;
  const isWanted = options.searchMode !== "search";
  let present: boolean | undefined;
  let lookedAt = Number.NEGATIVE_INFINITY;
  const rest = createRest<string>();
  let crashes = 0;

  async function look(): Promise<boolean> {
    if (present !== true && performance.now() - lookedAt > lookAgainMs) {
      present = await input.modelsPresent();
      lookedAt = performance.now();
      await process.setMode(present ? "semantic" : "lexical");
    }
    return present === true;
  }

  return {
    isWanted,
    async prepare(hasVectors) {
      if (!isWanted) return { use: false };
      if (!(await look()))
        return {
          use: false,
          reason: `memory.qmd.searchMode is "${options.searchMode}" and the models of qmd are not on this machine`,
          action: "run `qmd pull`, which fetches about 2 GB, or set memory.qmd.searchMode to search",
        };
      const resting = rest.current();
      if (resting) return { use: false, reason: resting.failure };
      if (hasVectors === false)
        return { use: false, reason: "qmd has made no vectors of the notes yet", action: "run `memslot memory index`" };
      return { use: true };
    },
    failed(error) {
      const hasCrashed = error instanceof QmdFailure && error.reason === "crash";
      if (hasCrashed) crashes++;
      const isOver = crashes >= crashesAllowed;
      const reason = `words answered alone: ${messageOf(error)}`;
      rest.start(reason, isOver ? Number.POSITIVE_INFINITY : restMs);
      return reason;
    },
    state: () => ({
      wanted: isWanted,
      modelsPresent: present,
      resting: rest.current()?.failure,
    }),
  };
}
