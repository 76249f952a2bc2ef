import { memoryConformance } from "@memslot/testkit";
import { chosenChecks, chosenMemoryChecks } from "@memslot/test-tools/chosen-checks";
import { afterAll, describe, test } from "vitest";
import plugin from "@memslot/memory-qmd";
import { makeFakeQmd } from "@memslot/fakes/qmd";

const fake = makeFakeQmd();
afterAll(() => fake.remove());

// The suite in full, also with the real qmd: `conformance.long.test.ts`. Hundreds of hostile queries take a third of the
// time of all these checks; `texts.test.ts` has the characters that mean something to qmd.
const checks = chosenMemoryChecks.filter((name) => name !== "search: hostile query text raises nothing");

chosenChecks({ describe, test }, checks, (runner) =>
  memoryConformance(runner, { plugin, options: { command: fake.command, fallback: "none" } }),
);
