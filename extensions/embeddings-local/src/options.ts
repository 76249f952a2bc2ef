import { availableParallelism } from "node:os";

/** How the model is run, from `plugins.entries.local.config`. */
export interface LocalOptions {
  /** Texts that are embedded at the same time. */
  contexts: number;
  /** Threads for each of them. */
  threads: number;
  /** Tokens that one text may have, where the model allows as many. */
  contextSize: number;
}

const defaultContexts = 2;
// Chunks have some 400 tokens. Memory grows with this number, and some models allow 32,768.
const defaultContextSize = 2048;

/** The same as in `memslot.plugin.json`. */
export const configSchema: Readonly<Record<string, unknown>> = {
  type: "object",
  properties: {
    contexts: { type: "integer", minimum: 1, maximum: 4 },
    threads: { type: "integer", minimum: 1, maximum: 64 },
    contextSize: { type: "integer", minimum: 64, maximum: 32_768 },
  },
  additionalProperties: false,
};

/** Options that were checked against the schema, with what is not set filled in for this machine. */
export function readOptions(options: Readonly<Record<string, unknown>>): LocalOptions {
  const whole = (name: string, otherwise: number): number => {
    const value = options[name];
    return typeof value === "number" ? value : otherwise;
  };
  return {
    contexts: whole("contexts", Math.min(defaultContexts, availableParallelism())),
    threads: whole("threads", 1),
    contextSize: whole("contextSize", defaultContextSize),
  };
}
