import { MemoryError, type MemoryErrorCode, isAbort, messageOf } from "../contract/errors.ts";
import type { MemorySearchManager } from "../contract/manager.ts";
import type { MemoryPlugin, MemoryPluginContext } from "../contract/plugin.ts";
import type { FallbackBackend } from "../fallback/primary.ts";
import { halfOf, withFallback } from "../fallback/with-fallback.ts";
import { type MemoryDeadlines, openWithDeadline } from "../guard/deadline.ts";
import { checkManager } from "../guard/call-table.ts";
import type { ChosenFallback } from "./choose-memory-plugin.ts";
import type { FoundPlugin } from "../plugins/known-plugins.ts";
import { loadPlugin } from "./open-plugin.ts";
import { storePlaceOf } from "./check-workspace.ts";

/** Errors that the user must fix, or that another process causes: a fallback would hide them. */
const notCovered: readonly MemoryErrorCode[] = [
  "CONFIG",
  "WORKSPACE",
  "BUSY",
  "INVALID_ARGUMENT",
  "PATH_NOT_ALLOWED",
  "CLOSED",
];

/** Opens the memory plugin in the slot, with its fallback. Throws `UNAVAILABLE` if neither opens. */
export async function openManager(input: {
  found: FoundPlugin;
  plugin: MemoryPlugin | undefined;
  failure: unknown;
  context: MemoryPluginContext;
  fallback?: ChosenFallback | undefined;
  deadlines: MemoryDeadlines;
}): Promise<MemorySearchManager> {
  const { found, plugin, context, deadlines } = input;
  const { signal, notify } = context;
  const opened = async (
    { name, open }: ReturnType<typeof openingOf>,
    deadlineMs: number,
  ): Promise<MemorySearchManager> =>
    openWithDeadline({ what: `opening memory plugin "${name}"`, deadlineMs, signals: [signal] }, async (inner) => {
      const manager = await open(inner);
      checkManager(name, manager);
      return manager;
    });
  const primary = openingOf(found, plugin, context, deadlines.openMs);
  if (input.fallback === undefined) return opened(primary, deadlines.openMs);
  const fallback = openingOf(input.fallback.found, undefined, contextOf(input.fallback, context), deadlines.openMs);
  const halves = halfOf(deadlines);
  let failure: MemoryError;
  try {
    if (plugin === undefined) throw input.failure;
    return withFallback({ name: found.id, manager: await opened(primary, halves.openMs) }, fallback, halves);
  } catch (error) {
    if (signal.aborted || notCovered.some((code) => MemoryError.is(error, code))) throw error;
    failure = outageOf(found.id, error);
  }
  const unavailable = `"${found.id}" is unavailable: ${messageOf(failure)}`;
  try {
    const manager = await opened(fallback, halves.openMs);
    notify(`${unavailable}; "${fallback.name}" answers in its place until it is back`);
    return withFallback({ ...primary, failure }, { ...fallback, manager }, halves);
  } catch (error) {
    if (isAbort(error) || MemoryError.is(error, "CLOSED")) throw error;
    const message = `${unavailable}; and its fallback "${fallback.name}" cannot be opened: ${messageOf(error)}`;
    throw new MemoryError("UNAVAILABLE", message, { cause: new AggregateError([failure, error], message) });
  }
}

/** A plugin that breaks when it is opened is as good as none that is there. */
function outageOf(name: string, error: unknown): MemoryError {
  if (MemoryError.is(error, "UNAVAILABLE")) return error;
  const message = MemoryError.is(error)
    ? error.message
    : `memory plugin "${name}" could not be opened: ${messageOf(error)}`;
  return new MemoryError("UNAVAILABLE", message, { cause: error });
}

function openingOf(
  found: FoundPlugin,
  plugin: MemoryPlugin | undefined,
  context: MemoryPluginContext,
  openMs: number,
): Required<Pick<FallbackBackend, "name" | "open">> {
  return {
    name: found.id,
    async open(signal) {
      const loaded = plugin ?? (await loadPlugin<MemoryPlugin>(found, openMs, signal));
      return loaded.open({ ...context, signal });
    },
  };
}

function contextOf({ found, options, keywordOnly }: ChosenFallback, context: MemoryPluginContext): MemoryPluginContext {
  const { settings, embeddings } = context;
  return {
    ...context,
    storePlace: storePlaceOf({ ...context, pluginId: found.id }),
    options,
    // A fallback is not synced in advance: its searches check for changes.
    settings: { ...settings, sync: { ...settings.sync, onSearch: settings.sync.onSearch || true } },
    embeddings:
      keywordOnly === undefined
        ? embeddings
        : { provider: undefined, requested: "none", reason: keywordOnly, degraded: false },
  };
}
