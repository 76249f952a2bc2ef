import { createLocalPlugin } from "./local-plugin.ts";
import { embeddingConformance } from "@memslot/testkit";
import { describe, test } from "vitest";
import { contextOf, tinyModel } from "./test/lab.ts";

embeddingConformance(
  { describe, test },
  {
    open: async () => createLocalPlugin().open(contextOf({ memorySearch: { local: { modelPath: tinyModel() } } })),
  },
);
