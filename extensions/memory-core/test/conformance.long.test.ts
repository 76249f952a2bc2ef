import { chunkStoreConformance, createReferencePlugin, memoryConformance } from "@memslot/testkit";
import { describe, test } from "vitest";
import plugin from "@memslot/memory-core";
import { behindDeadPrimary, withStandby } from "./support/fallback-plugins.ts";
import { storesWith } from "./support/store-of-index.ts";

describe("on a host where sqlite-vec does not load", () => {
  const open = storesWith({ enabled: true, engine: "sqlite-vec", extensionPath: "/nowhere/vec0" });
  chunkStoreConformance({ describe, test }, { open, reopens: true });
});

describe("as the fallback backend, and with one", () => {
  memoryConformance({ describe, test }, { plugin: behindDeadPrimary(plugin) });
  memoryConformance({ describe, test }, { plugin: withStandby(plugin, createReferencePlugin()) });
});
