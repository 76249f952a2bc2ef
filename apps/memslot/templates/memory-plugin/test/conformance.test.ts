import { join } from "node:path";
import { chunkStoreConformance, memoryConformance } from "@memslot/testkit";
import plugin, { openFileStore } from "../src/index.ts";

// The same under vitest and under `node --test`.
const { describe, test } = process.env["VITEST"] ? await import("vitest") : await import("node:test");

chunkStoreConformance({ describe, test }, { open: (dir) => openFileStore(join(dir, "chunks.json")), reopens: true });
memoryConformance({ describe, test }, { plugin });
