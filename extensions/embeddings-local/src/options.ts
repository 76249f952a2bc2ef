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

/** `pnpm generate` writes it into `memslot.plugin.json`. */
export const configSchema: Readonly<Record<string, unknown>> = {
  type: "object",
  properties: {
    contexts: { type: "integer", minimum: 1, maximum: 4 },
    threads: { type: "integer", minimum: 1, maximum: 64 },
    contextSize: { type: "integer", minimum: 64, maximum: 32_768 },
  },
  additionalProperties: false,
};

/** Options, which the host has checked against the schema, with what is not set filled in for this machine. */
export function readOptions(options: Readonly<Record<string, unknown>>): LocalOptions {
  return {
    contexts: Math.min(defaultContexts, availableParallelism()),
    threads: 1,
    contextSize: defaultContextSize,
    ...(options as Partial<LocalOptions>),
  };
}
