import { behindDeadPrimary, createReferencePlugin, memoryConformance, withSpare } from "@memslot/testkit";
import { describe, test } from "vitest";
import plugin from "@memslot/memory-lancedb";

memoryConformance({ describe, test }, { plugin: behindDeadPrimary(plugin) });
memoryConformance({ describe, test }, { plugin: withSpare(plugin, createReferencePlugin()) });
