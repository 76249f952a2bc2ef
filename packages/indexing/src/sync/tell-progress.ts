import type { SyncProgress } from "@memslot/core";

/** How often it is said, at most, how far work is: as often as it is written down for others to read. */
const tellEveryMs = 500;

/**
 * Says to others how far work is: at once, then every half second while it goes on, and what came last is not lost. A sync
 * tells of every file, and each message to a thread or another machine costs more than a small file does.
 */
export function createProgressTeller(tell: (update: SyncProgress) => Promise<void>): (update: SyncProgress) => void {
  let untold: SyncProgress | undefined;
  /** It was told a moment ago, or is being told. */
  let isResting = false;

  async function tellLatest(): Promise<void> {
    const update = untold;
    isResting = update !== undefined;
    if (update === undefined) return;
    untold = undefined;
    await tell(update).catch(() => undefined);
    setTimeout(() => void tellLatest(), tellEveryMs).unref();
  }

  return (update) => {
    untold = update;
    if (!isResting) void tellLatest();
  };
}
