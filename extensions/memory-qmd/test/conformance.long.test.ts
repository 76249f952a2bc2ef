import { type Deviation, memoryConformance } from "@memslot/testkit";
import { afterAll, describe, test } from "vitest";
import plugin from "@memslot/memory-qmd";
import { makeFakeQmd, realQmd } from "@memslot/fakes/qmd";
import data from "./data/conformance.json" with { type: "json" };

/** Known differences of qmd, as the README lists them. */
const deviations: readonly Deviation[] = data.deviations;
const fake = makeFakeQmd();
afterAll(() => fake.remove());
const real = await realQmd();
if (real.reason !== undefined) process.stderr.write(`${real.reason}\n`);

describe("with the scripted qmd", () => {
  const options = { command: fake.command, fallback: "none" };
  memoryConformance({ describe, test }, { plugin, options, deviations });
});

describe.skipIf(real.command === undefined)("with the real qmd", () => {
  // For a busy machine.
  const update = { commandTimeoutMs: 60_000 };
  const options = { command: real.command, fallback: "none", update, limits: { timeoutMs: 15_000 } };
  memoryConformance({ describe, test }, { plugin, options, deviations });
});
