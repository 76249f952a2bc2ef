import { memoryConformance } from "@memslot/testkit";
import { chosenMemoryChecks } from "@memslot/test-tools/chosen-checks";
import { afterAll, describe, test } from "vitest";
import plugin from "@memslot/memory-qmd";
import { makeFakeQmd } from "@memslot/fakes/qmd";

const fake = makeFakeQmd();
afterAll(() => fake.remove());

// The suite in full, also with the real qmd: `conformance.long.test.ts`.
const options = { command: fake.command, fallback: "none" };
memoryConformance({ describe, test }, { plugin, options, only: chosenMemoryChecks });
