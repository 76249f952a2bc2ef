import { memoryConformance } from "@memslot/testkit";
import { describe, test } from "vitest";
import plugin from "../src/index.ts";
import { realQmd } from "@memslot/qmd-fakes";
import { deviations } from "./support/deviations.ts";

const { command, reason } = await realQmd();
if (reason !== undefined) process.stderr.write(`${reason}\n`);

describe.skipIf(command === undefined)("with the real qmd", () => {
  memoryConformance({ describe, test }, { plugin, options: { command, fallback: "none" }, deviations });
});
