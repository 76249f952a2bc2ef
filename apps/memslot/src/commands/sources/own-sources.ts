import type { MemslotConfig } from "@memslot/core";
import { UsageError } from "../../terminal/usage-error.ts";

/** Refuses where an agent has a list of sources of its own, which what is written for all would not change. */
export function refuseOwnSources(config: MemslotConfig): void {
  const keys = config.describe().map(({ key }) => key);
  const own = keys.find((key) => /^agents\.list\[.+\]\.memorySearch\.sources$/u.test(key));
  if (own !== undefined)
    throw new UsageError(
      `${own} is a list of its own, which this command does not change: change it in ${config.file ?? "the configuration"}`,
    );
}
