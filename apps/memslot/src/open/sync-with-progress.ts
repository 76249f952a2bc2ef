import { type Memory, type SyncReport, visibleName } from "@memslot/core";
import type { CommandContext } from "../command-context.ts";
import { createProgress, reportFirstIndex } from "../terminal/progress.ts";

export interface SyncOptions {
  what: string;
  /** What requested the sync. Default: `cli`. */
  reason?: string;
  force?: boolean;
  /** Wait for another process that is writing to the index; else throws `BUSY`. */
  wait?: boolean;
  verbose?: boolean;
}

/** The young generation reaches about 16 MB after this number of files. */
const grownAfterFiles = 800;

/** Updates the index with a progress display. Undefined if the backend has no index of its own. */
export async function syncWithProgress(
  context: CommandContext,
  memory: Memory,
  options: SyncOptions,
): Promise<SyncReport | undefined> {
  const progress = createProgress(context.output, options.what);
  const isFirst = (memory.status().files ?? 0) === 0;
  const endOfFirst = isFirst ? reportFirstIndex(context.output, memory.workspaceDir) : undefined;
  let named: string | undefined;
  // The list of files would let the young generation grow to its maximum at once.
  if (isFirst) boundGarbage(1);
  try {
    return await memory.sync({
      reason: options.reason ?? "cli",
      force: options.force ?? false,
      wait: options.wait ?? false,
      signal: context.signal,
      progress: (update) => {
        if (update.completed === 0 && update.total > grownAfterFiles) boundGarbage(2);
        if (update.completed === grownAfterFiles) boundGarbage(1);
        if (options.verbose !== true) progress.update(update);
        else if (update.label !== undefined && update.label !== named) {
          named = update.label;
          context.output.stderr.write(`memslot: ${update.completed}/${update.total} ${visibleName(update.label)}\n`);
        }
      },
    });
  } finally {
    endOfFirst?.();
    progress.stop();
  }
}

/** Limits garbage while many files are read; otherwise the heap grows by hundreds of megabytes. */
function boundGarbage(growth: 1 | 2): void {
  // An import would load the module in commands that do not need it.
  const { setFlagsFromString } = process.getBuiltinModule("node:v8");
  setFlagsFromString(`--semi-space-growth-factor=${growth}`);
  setFlagsFromString("--heap-growing-percent=33");
}
