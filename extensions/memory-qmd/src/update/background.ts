import type { QmdOptions } from "../settings/options.ts";
import type { QmdProcess } from "../qmd-contract.ts";
import type { Updates } from "./updates.ts";

/** What is done without anybody asking: the regular look at all notes, and vectors. Nothing here keeps a process alive. */
export interface Background {
  /** An update went well. */
  updated(): void;
  close(): Promise<void>;
}

export function startBackground(input: {
  options: QmdOptions["update"];
  process: QmdProcess;
  updates: Updates;
  /** Looks at the notes. */
  sync: (signal: AbortSignal) => Promise<unknown>;
  /** Whether qmd is to make vectors: it is asked for, and the models are there. */
  wantsVectors: () => boolean;
}): Background {
  const { options, process, updates } = input;
  const closing = new AbortController();
  let embedding: Promise<void> | undefined;
  let embeddedAt = Number.NEGATIVE_INFINITY;
  const timers = [every(options.intervalMs, look), every(options.embedIntervalMs, embed)];

  function look(): void {
    void input
      .sync(closing.signal)
      .then(() => updates.request("soon"))
      // The sync has taken down what failed.
      .catch(() => undefined);
  }

  function embed(): void {
    if (closing.signal.aborted || !input.wantsVectors()) return;
    embeddedAt = performance.now();
    embedding ??= makeVectors()
      .catch(() => undefined)
      .finally(() => (embedding = undefined));
  }

  async function makeVectors(): Promise<void> {
    const { signal } = closing;
    const { needsEmbedding } = await updates.index.look(signal);
    if (needsEmbedding === 0) return;
    await process.embed({ minutes: Math.max(1, Math.ceil(options.embedTimeoutMs / 60_000)), signal });
    await updates.index.look(signal);
  }

  return {
    updated() {
      if (options.embedIntervalMs > 0 && performance.now() - embeddedAt >= options.embedIntervalMs) embed();
    },
    async close() {
      closing.abort();
      for (const timer of timers) clearInterval(timer);
      await embedding;
    },
  };
}

function every(milliseconds: number, work: () => void): NodeJS.Timeout | undefined {
  return milliseconds > 0 ? setInterval(work, milliseconds).unref() : undefined;
}
