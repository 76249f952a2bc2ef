import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { resolveStateDir } from "@memslot/core";

/** What went wrong with a hook last: the hook itself says nothing. */
export interface HookFault {
  readonly client: string;
  readonly message: string;
  /** ISO 8601. */
  readonly at: string;
}

type StateContext = Parameters<typeof resolveStateDir>[0];

const fileOf = (stateDir: string): string => path.join(stateDir, "hooks", "last-fault.json");

/** Never throws: there is nobody to tell. */
export function noteFault(context: StateContext, fault: Omit<HookFault, "at">): void {
  try {
    const file = fileOf(resolveStateDir(context));
    mkdirSync(path.dirname(file), { recursive: true, mode: 0o700 });
    // Half a file is as good as none.
    writeFileSync(file, `${JSON.stringify({ ...fault, at: new Date().toISOString() })}\n`, { mode: 0o600 });
  } catch {
    // A disk that takes nothing is a fault of its own.
  }
}

/** Undefined where nothing went wrong, or nobody knows. */
export function lastFault(stateDir: string): HookFault | undefined {
  try {
    const fault = JSON.parse(readFileSync(fileOf(stateDir), "utf8")) as Partial<HookFault>;
    const { client, message, at } = fault;
    return typeof client === "string" && typeof message === "string" && typeof at === "string"
      ? { client, message, at }
      : undefined;
  } catch {
    return undefined;
  }
}
