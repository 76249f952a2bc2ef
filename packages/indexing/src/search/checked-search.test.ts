import { expect, test } from "vitest";
import { searchAhead } from "./checked-search.ts";

test("what was found ahead counts while nothing has been written since", async () => {
  let searches = 0;
  const taken = searchAhead({ revision: async () => "7" }, async () => ++searches);
  expect(await taken()).toBe(1);
});

test("a write since, whoever made it, has the search made again", async () => {
  let revision = 7;
  const taken = searchAhead({ revision: async () => String(revision) }, async () => "old");
  await new Promise(setImmediate);
  revision = 8;
  expect(await taken()).toBeUndefined();
});

test("a write in the middle of the search counts as one since", async () => {
  let revision = 7;
  const search = async (): Promise<string> => {
    revision = 8;
    return "half old";
  };
  expect(await searchAhead({ revision: async () => String(revision) }, search)()).toBeUndefined();
});

test("a store that cannot tell is not asked ahead, and a failure is left to the search that counts", async () => {
  let searches = 0;
  const search = async (): Promise<string> => {
    searches += 1;
    throw new Error("not yet");
  };
  expect(await searchAhead({}, search)()).toBeUndefined();
  expect(searches).toBe(0);
  expect(await searchAhead({ revision: async () => "7" }, search)()).toBeUndefined();
});
