import { createLocalPlugin } from "../src/local-plugin.ts";
import { embeddingConformance } from "@memslot/testkit";
import { describe, test } from "vitest";
import { contextOf, tinyModel } from "./support/lab.ts";

embeddingConformance(
  { describe, test },
  {
    open: async () => createLocalPlugin().open(contextOf({ memorySearch: { local: { modelPath: tinyModel() } } })),
  },
);
