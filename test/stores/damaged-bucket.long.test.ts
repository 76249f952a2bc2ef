import { test } from "vitest";
import { damagedObjects, expectHealed } from "../support/damaged-bucket.ts";

test.each(damagedObjects)(
  "a bucket in which %s are %s is healed",
  { timeout: 60_000 },
  async (...row) => await expectHealed(...row),
);
