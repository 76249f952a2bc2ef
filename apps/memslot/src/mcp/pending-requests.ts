/** Time for an ending server to finish its requests. */
export const FINISH_DEADLINE_MS = 5000;
/** For data in transit. */
const QUIET_MS = 20;

/** Requests without an answer yet. */
export interface OpenRequests {
  begin(request: unknown): void;
  end(request: unknown): void;
  /** Resolves when all are answered and no other arrives, at the latest after five seconds. */
  finished(): Promise<void>;
}

export function createOpenRequests(): OpenRequests {
  const open = new Set<unknown>();
  let changed = (): void => undefined;
  return {
    begin(request) {
      open.add(request);
      changed();
    },
    end(request) {
      open.delete(request);
      changed();
    },
    async finished() {
      await new Promise<void>((resolve) => {
        const late = setTimeout(resolve, FINISH_DEADLINE_MS);
        let quiet: NodeJS.Timeout | undefined;
        const done = (): void => {
          clearTimeout(late);
          resolve();
        };
        changed = () => {
          clearTimeout(quiet);
          if (open.size === 0) quiet = setTimeout(done, QUIET_MS);
        };
        changed();
      });
    },
  };
}
