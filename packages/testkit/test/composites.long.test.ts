import { describe, test } from "vitest";
import { behindDeadPrimary, createReferencePlugin, memoryConformance, withSpare } from "@memslot/testkit";

memoryConformance({ describe, test }, { plugin: behindDeadPrimary(createReferencePlugin()) });
memoryConformance({ describe, test }, { plugin: withSpare(createReferencePlugin(), createReferencePlugin()) });
