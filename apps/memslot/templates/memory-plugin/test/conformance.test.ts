import { join } from "node:path";
import { chunkIndexConformance, memoryConformance } from "@memslot/testkit";
import plugin, { openFileStore } from "../src/index.ts";

// The same under vitest and under `node --test`.
const { describe, test } = process.env["VITEST"] ? await import("vitest") : await import("node:test");

memoryConformance({ describe, test }, { plugin });
chunkIndexConformance({ describe, test }, { open: (dir) => openFileStore(join(dir, "index.json")), reopens: true });
