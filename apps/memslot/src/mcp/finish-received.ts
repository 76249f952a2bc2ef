/** How long an ending server goes on with what it was asked before. */
export const FINISH_DEADLINE_MS = 5000;
/** For what is on its way and was not read yet. */
const QUIET_MS = 20;

/** What was asked and not answered yet. */
export interface OpenRequests {
  begin(request: unknown): void;
  end(request: unknown): void;
  /** Resolves when all are answered and no other comes, and in any case after five seconds. */
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
