import { join } from "node:path";
import { chunkIndexConformance } from "@memslot/fakes/chunk-index";
import { behindDeadPrimary, createReferencePlugin, memoryConformance, withSpare } from "@memslot/testkit";
import { describe, test } from "vitest";
import plugin, { openSqliteStore, type SqliteStoreOptions } from "@memslot/memory-core";
import data from "./data/conformance.json" with { type: "json" };

const openWith = (vector: SqliteStoreOptions["vector"]) => (stateDir: string) =>
  openSqliteStore({
    path: join(stateDir, "main.sqlite"),
    locksDir: join(stateDir, "locks"),
    vector,
    cacheMaxEntries: 1000,
  });

describe("with a fresh thread for every opening", () => {
  chunkIndexConformance({ describe, test }, { open: openWith({ enabled: true }), reopens: true });
});

describe("on a host where sqlite-vec does not load", () => {
  chunkIndexConformance(
    { describe, test },
    {
      open: openWith({ enabled: true, engine: "sqlite-vec", extensionPath: "/nowhere/vec0" }),
      reopens: true,
      deviations: data.deviations,
    },
  );
});

describe("as the fallback backend, and with one", () => {
  memoryConformance({ describe, test }, { plugin: behindDeadPrimary(plugin) });
  memoryConformance({ describe, test }, { plugin: withSpare(plugin, createReferencePlugin()) });
});
