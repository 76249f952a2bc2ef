import type { ChosenSpare } from "../fallback/choose-spare.ts";
import { openWithDeadline, withDeadline } from "../guard/deadline.ts";
import type { MemoryDeadlines } from "../guard/deadline.ts";
import type { MemorySearchManager } from "../contract/manager.ts";
import { openWithFallback } from "../fallback/open-with-fallback.ts";
import type { MemoryPlugin, MemoryPluginContext } from "../contract/plugin.ts";
import { storePlaceOf } from "./workspace.ts";

/** Opens the memory plugin in the slot, behind it the spare, where there is one. */
export async function openManager(input: {
  plugin: MemoryPlugin;
  context: MemoryPluginContext;
  spare: ChosenSpare | undefined;
  deadlines: MemoryDeadlines;
}): Promise<MemorySearchManager> {
  const { plugin, context, spare, deadlines } = input;
  const open = (signal: AbortSignal): Promise<MemorySearchManager> => plugin.open({ ...context, signal });
  if (spare === undefined) {
    const what = `opening memory plugin "${plugin.id}"`;
    return openWithDeadline({ what, deadlineMs: deadlines.openMs, signals: [context.signal] }, open);
  }
  const { signal, notify } = context;
  // What one may take, two have to share: the caller waits for both.
  return openWithFallback({ name: plugin.id, open }, spareOf(spare, context, deadlines), {
    searchMs: deadlines.searchMs / 2,
    readFileMs: deadlines.readFileMs / 2,
    probeMs: deadlines.probeMs / 2,
    syncIdleMs: deadlines.syncIdleMs / 2,
    openMs: deadlines.openMs / 2,
    signal,
    notify,
  });
}

function spareOf(
  { found, options, keywordOnly }: ChosenSpare,
  context: MemoryPluginContext,
  { openMs }: MemoryDeadlines,
): { name: string; open: (signal: AbortSignal) => Promise<MemorySearchManager> } {
  const { settings, embeddings } = context;
  const own: MemoryPluginContext = {
    ...context,
    storePlace: storePlaceOf({ ...context, pluginId: found.id }),
    options,
    // Nobody syncs a spare before it is needed: its searches look for what has changed themselves.
    settings: { ...settings, sync: { ...settings.sync, onSearch: settings.sync.onSearch || true } },
    embeddings:
      keywordOnly === undefined
        ? embeddings
        : { provider: undefined, requested: "none", reason: keywordOnly, degraded: false },
  };
  const open = async (signal: AbortSignal): Promise<MemorySearchManager> => {
    const limits = { what: `loading memory plugin "${found.id}"`, deadlineMs: openMs, signals: [signal] };
    const plugin = (await withDeadline(limits, () => found.load())) as MemoryPlugin;
    return plugin.open({ ...own, signal });
  };
  return { name: found.id, open };
}
