import { describe, test } from "vitest";
import { deterministicEmbeddings, embeddingConformance } from "@memslot/testkit";

embeddingConformance({ describe, test }, { open: async () => deterministicEmbeddings() });
