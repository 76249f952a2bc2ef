import type { MemoryRootStatus } from "@memslot/core";

/** Where memory may stand and need not. */
const usualPlaces: ReadonlySet<string> = new Set("MEMORY.md memory.md USER.md memory sessions journal".split(" "));

/** Whether a place is left out for a reason that is none to worry about: nobody has to make every place for memory. */
export function isUsualGap({ path, reason = "" }: MemoryRootStatus): boolean {
  return usualPlaces.has(path) && /^does not exist$|^(?:MEMORY|memory)\.md is used$/.test(reason);
}
