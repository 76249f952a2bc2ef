import type { MemoryPluginContext, MemorySearchManager } from "@memslot/core";
import { unavailable } from "./failures.ts";
import { noticesOf, openQmdManager } from "./manager.ts";
import { readOptions } from "./settings/options.ts";
import { findQmd } from "./process/find-qmd.ts";

/** Opens the memory of this plugin. Throws `UNAVAILABLE` with the command that helps where there is no qmd to ask. */
export async function openPlugin(context: MemoryPluginContext): Promise<MemorySearchManager> {
  const options = readOptions(context.options);
  for (const notice of noticesOf(context, options)) context.notify(notice);
  const environment = process.env;
  try {
    const found = await findQmd({ command: options.command, environment, signal: context.signal });
    return await openQmdManager({ context, options, found, environment });
  } catch (error) {
    throw unavailable(error);
  }
}
