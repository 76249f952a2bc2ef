import { type Memory, type SyncReport, visibleName } from "@memslot/core";
import type { CommandContext } from "../command-context.ts";
import { createProgress, tellFirstIndex } from "../terminal/progress.ts";

export interface SyncOptions {
  /** What the bar or the line begins with: `indexing`, or `indexing agent-name`. */
  what: string;
  /** Who wants it; `cli` if left out. */
  reason?: string;
  force?: boolean;
  /** Wait for another process that is at work on the same index; else it is named in a `BUSY` error. */
  wait?: boolean;
  /** Names each file on stderr in place of the bar. */
  verbose?: boolean;
}

/** The young generation has about 16 MB once so many files are read. */
const grownAfterFiles = 800;

/** Brings the index up to date and shows how far it has come. Undefined where the backend keeps no index of its own. */
export async function syncWithProgress(
  context: CommandContext,
  memory: Memory,
  options: SyncOptions,
): Promise<SyncReport | undefined> {
  const progress = createProgress(context.output, options.what);
  const isFirst = (memory.status().files ?? 0) === 0;
  const endOfFirst = isFirst ? tellFirstIndex(context.output, memory.workspaceDir) : undefined;
  let named: string | undefined;
  // The list of the files would let it grow to its most at once.
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

/**
 * Bounds the garbage that Node keeps while many files are read: by how much the young generation may grow at a time, and
 * that the old one is collected after it has grown by a third. Both would grow by hundreds of megabytes that hold nothing.
 */
function boundGarbage(growth: 1 | 2): void {
  // An import would load the module in commands that do not need it.
  const { setFlagsFromString } = process.getBuiltinModule("node:v8");
  setFlagsFromString(`--semi-space-growth-factor=${growth}`);
  setFlagsFromString("--heap-growing-percent=33");
}
