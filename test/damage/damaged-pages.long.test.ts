import { expect, test } from "vitest";
import { stormSqlite } from "./sqlite-storm.ts";

test("no answer called ok is wrong after a damaged page of the index, of any kind and at any time", async () => {
  const { counts, lines } = await stormSqlite({ damages: 16, notes: 60, seed: 3 });
  expect(lines).toEqual([]);
  expect(counts).toMatchObject({ damages: 16, wrongOk: 0, failed: 0, unrecovered: 0 });
}, 300_000);
