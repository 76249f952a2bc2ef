import type { MemslotConfig } from "@memslot/core";
import { UsageError } from "../../terminal/usage-error.ts";

/** Throws if an agent has its own list of sources, which a change of the defaults would not affect. */
export function refuseOwnSources(config: MemslotConfig): void {
  const keys = config.describe().map(({ key }) => key);
  const own = keys.find((key) => /^agents\.list\[.+\]\.memorySearch\.sources$/u.test(key));
  if (own !== undefined)
    throw new UsageError(
      `${own} overrides the sources for this agent: change it in ${config.file ?? "the configuration"}`,
    );
}
