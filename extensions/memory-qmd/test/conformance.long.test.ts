import { memoryConformance } from "@memslot/testkit";
import { afterAll, describe, test } from "vitest";
import plugin from "@memslot/memory-qmd";
import { makeFakeQmd } from "@memslot/fakes/qmd";
import { deviations } from "./support/deviations.ts";

const fake = makeFakeQmd();
afterAll(() => fake.remove());

memoryConformance({ describe, test }, { plugin, options: { command: fake.command, fallback: "none" }, deviations });
