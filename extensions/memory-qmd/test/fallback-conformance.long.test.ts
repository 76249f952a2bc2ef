import { behindDeadPrimary, createReferencePlugin, memoryConformance, withSpare } from "@memslot/testkit";
import { afterAll, describe, test } from "vitest";
import plugin from "@memslot/memory-qmd";
import { makeFakeQmd } from "@memslot/fakes/qmd";
import { deviations } from "./support/deviations.ts";

const fake = makeFakeQmd();
afterAll(() => fake.remove());
const options = { command: fake.command, fallback: "none" };

memoryConformance({ describe, test }, { plugin: behindDeadPrimary(plugin), options, deviations });
memoryConformance({ describe, test }, { plugin: withSpare(plugin, createReferencePlugin()), options, deviations });
