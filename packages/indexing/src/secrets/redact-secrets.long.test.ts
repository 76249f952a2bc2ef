import { test } from "vitest";
import { expectSoundRedaction, redactCostly } from "./test/redaction-checks.ts";

test("any of 6,000 texts keeps its lines, and redacting it again changes nothing", () =>
  expectSoundRedaction({ seed: 5, texts: 6000 }));

test("a text of 200,000 characters takes a time that grows with its length, whatever it is made of", () =>
  redactCostly(200_000));
