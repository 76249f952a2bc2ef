import { describe, test } from "vitest";
import { chunkIndexConformance, createInMemoryIndex } from "@memslot/fakes/chunk-index";

chunkIndexConformance({ describe, test }, { open: async () => createInMemoryIndex(), reopens: false });
