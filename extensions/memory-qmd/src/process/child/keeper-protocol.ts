/** What the keeper of a child is told first: the command to run and how it ends. */
export interface StartOrder {
  type: "start";
  command: string;
  args: readonly string[];
  /** Between SIGTERM and SIGKILL. */
  graceMs: number;
  /** Whether it gives way to everything else that runs on this machine. */
  givesWay?: boolean | undefined;
  /** A file that only one child may hold at a time, over all processes. It is free again when the child is gone. */
  lock?: string | undefined;
  /** A file that stands there while the child runs, and stays where the child was killed. */
  marker?: string | undefined;
}

export type ToKeeper = StartOrder | { type: "stop" };

export type FromKeeper =
  | { type: "started"; pid: number; wasTorn: boolean }
  /** `code` as Node has it: `ENOENT` where there is no such command, or `FolderTrouble`. */
  | { type: "failed"; code: string; message: string }
  | { type: "ended"; code: number | null; signal: NodeJS.Signals | null; isTorn: boolean };

/** The lock or the marker cannot be made: a full disk, a folder that cannot be written. */
export type FolderTrouble = "FOLDER";
