import {
  type MemoryPlugin,
  type MemorySearchManager,
  MemoryError,
  defineMemoryPlugin,
  withFallback,
} from "@memslot/core";

/** The plugin as the fallback of a primary that is always unavailable: it answers, and each answer is `degraded`. */
export function behindDeadPrimary(plugin: MemoryPlugin): MemoryPlugin {
  return withId(plugin, `${plugin.id}-behind-dead-primary`, async (context) => {
    // Opened at once, so that an error of opening is reported by `open`.
    const manager = await plugin.open(context);
    const primary = { name: "dead", manager: deadManager(manager) };
    return withFallback(primary, { name: plugin.id, manager, open: () => plugin.open(context) });
  });
}

/** The plugin with a fallback, which is opened when the plugin is unavailable. */
export function withStandby(plugin: MemoryPlugin, standby: MemoryPlugin): MemoryPlugin {
  return withId(plugin, `${plugin.id}-with-${standby.id}`, async (context) =>
    withFallback(
      { name: plugin.id, manager: await plugin.open(context) },
      { name: standby.id, open: (signal) => standby.open({ ...context, options: {}, signal }) },
    ),
  );
}

function withId({ configSchema }: MemoryPlugin, id: string, open: MemoryPlugin["open"]): MemoryPlugin {
  return defineMemoryPlugin({ id, ...(configSchema && { configSchema }), open });
}

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
