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
  try {
    return await memory.sync({
      reason: options.reason ?? "cli",
      force: options.force ?? false,
      wait: options.wait ?? false,
      signal: context.signal,
      progress: (update) => {
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
