import type { MemoryPluginContext, MemorySearchManager } from "@memslot/core";
import { unavailable } from "./failures.ts";
import { openQmdManager } from "./manager.ts";
import { type QmdOptions, readOptions } from "./settings/options.ts";
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

/** What can be told before qmd is looked for. */
export function noticesOf(context: MemoryPluginContext, options: QmdOptions): string[] {
  const notices: string[] = [];
  if (options.hasMcporter)
    notices.push(
      "memory.qmd.mcporter is not needed: memslot keeps `qmd mcp` running itself, and does not use mcporter",
    );
  if (options.sessions.enabled && !context.settings.sources.includes("sessions"))
    notices.push(
      'memory.qmd.sessions.enabled indexes transcripts; to have searches look at them, name "sessions" in memorySearch.sources too',
    );
  if (options.rerank && options.searchMode === "search")
    notices.push('memory.qmd.rerank has no effect while memory.qmd.searchMode is "search"');
  return notices;
}
