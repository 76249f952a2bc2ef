import { describe, test } from "vitest";
import {
  type MemoryPlugin,
  type MemorySearchManager,
  MemoryError,
  defineMemoryPlugin,
  withFallback,
} from "@memslot/core";
import { createReferencePlugin, memoryConformance } from "@memslot/testkit";

/** Answers nothing but that it is unavailable. */
function deadManager(): MemorySearchManager {
  const refuse = async (): Promise<never> =>
    Promise.reject(new MemoryError("UNAVAILABLE", "the primary does not start"));
  return {
    capabilities: { keyword: true, vector: true, ownsIndex: true },
    search: refuse,
    readFile: refuse,
    sync: refuse,
    status: () => ({ backend: "dead", provider: "none", dirty: true }),
    probeEmbeddingAvailability: refuse,
    probeVectorAvailability: refuse,
  };
}

function behindDeadPrimary(plugin: MemoryPlugin): MemoryPlugin {
  return defineMemoryPlugin({
    id: "behind-dead-primary",
    open: async (context) =>
      withFallback({ name: "dead", manager: deadManager() }, { name: plugin.id, open: () => plugin.open(context) }),
  });
}

function withUnusedSpare(plugin: MemoryPlugin): MemoryPlugin {
  return defineMemoryPlugin({
    id: "with-unused-spare",
    open: async (context) =>
      withFallback(
        { name: plugin.id, manager: await plugin.open(context) },
        { name: "dead", open: async () => deadManager() },
      ),
  });
}

memoryConformance(
  { describe, test },
  {
    plugin: behindDeadPrimary(createReferencePlugin()),
  },
);
memoryConformance({ describe, test }, { plugin: withUnusedSpare(createReferencePlugin()) });
