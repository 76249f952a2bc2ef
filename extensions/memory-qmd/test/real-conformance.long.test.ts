import { memoryConformance } from "@memslot/testkit";
import { describe, test } from "vitest";
import plugin from "@memslot/memory-qmd";
import { realQmd } from "@memslot/fakes/qmd";
import { deviations } from "./support/deviations.ts";

const { command, reason } = await realQmd();
if (reason !== undefined) process.stderr.write(`${reason}\n`);

describe.skipIf(command === undefined)("with the real qmd", () => {
  memoryConformance({ describe, test }, { plugin, options: { command, fallback: "none" }, deviations });
});
