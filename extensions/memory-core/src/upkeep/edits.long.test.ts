import { expect, test } from "vitest";
import {
  bytesOf,
  faultsOf,
  fill,
  noteOf,
  editedSpace as space,
  textOf,
  embedAll,
  find,
  near,
  open,
  tempPath,
} from "../test/stores.ts";

test("spare C: 1,000 edits of one note leave the database under twice a fresh one", { timeout: 300_000 }, async () => {
  const fresh = await tempPath();
  const first = await open(fresh);
  await fill(first);
  await first.close();

  const path = await tempPath();
  const store = await open(path);
  await fill(store);
  for (let version = 1; version <= 1000; version++) {
    await store.replaceFiles([noteOf("note7", version)]);
    await embedAll(store, space);
  }
  expect(await find(store, "note7p0key1000")).toHaveLength(1);
  expect(await find(store, "note7p0key999")).toEqual([]);
  expect(await near(store, space, textOf("note7p0", 1000), 1)).toEqual([textOf("note7p0", 1000)]);
  await store.close();
  expect(bytesOf(path)).toBeLessThan(2 * bytesOf(fresh));
  const again = await open(path);
  expect(await faultsOf(again)).toEqual([]);
});
