import { behindDeadPrimary, createReferencePlugin, memoryConformance, withSpare } from "@memslot/testkit";
import { describe, test } from "vitest";
import plugin from "../src/index.ts";

memoryConformance({ describe, test }, { plugin: behindDeadPrimary(plugin) });
memoryConformance({ describe, test }, { plugin: withSpare(plugin, createReferencePlugin()) });
