import { describe, test } from "vitest";
import { deterministicReranker, rerankConformance } from "@memslot/testkit";

rerankConformance({ describe, test }, { open: async () => deterministicReranker() });
