import {
  type MemoryPlugin,
  type MemorySearchManager,
  MemoryError,
  defineMemoryPlugin,
  withFallback,
} from "@memslot/core";

/** The plugin as the spare of a primary that is always unavailable: it answers, and every answer says so. */
export function behindDeadPrimary(plugin: MemoryPlugin): MemoryPlugin {
  return defineMemoryPlugin({
    id: `${plugin.id}-behind-dead-primary`,
    ...(plugin.configSchema && { configSchema: plugin.configSchema }),
    open: async (context) => {
      // Opened at once, so that what it says when it is opened is said then.
      const manager = await plugin.open(context);
      return withFallback(
        { name: "dead", manager: deadManager(manager) },
        { name: plugin.id, manager, open: () => plugin.open(context) },
      );
    },
  });
}

/** The plugin with another one behind it, which is opened only when the first is unavailable. */
export function withSpare(plugin: MemoryPlugin, spare: MemoryPlugin): MemoryPlugin {
  return defineMemoryPlugin({
    id: `${plugin.id}-with-${spare.id}`,
    ...(plugin.configSchema && { configSchema: plugin.configSchema }),
    open: async (context) =>
      withFallback(
        { name: plugin.id, manager: await plugin.open(context) },
        { name: spare.id, open: (signal) => spare.open({ ...context, options: {}, signal }) },
      ),
  });
}

/** Says that it can do what the other can, and is unavailable. */
function deadManager({ capabilities }: MemorySearchManager): MemorySearchManager {
  const refuse = async (): Promise<never> =>
    Promise.reject(new MemoryError("UNAVAILABLE", "the primary does not start"));
  return {
    capabilities,
    search: refuse,
    readFile: refuse,
    sync: refuse,
    status: () => ({ backend: "dead", provider: "none", dirty: true }),
    probeEmbeddingAvailability: refuse,
    probeVectorAvailability: refuse,
  };
}
