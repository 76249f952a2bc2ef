import { describe, test } from "vitest";
import { createReferencePlugin, memoryConformance } from "@memslot/testkit";

memoryConformance({ describe, test }, { plugin: createReferencePlugin() });
