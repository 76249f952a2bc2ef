import { expect, test } from "vitest";
import { wrongRandomEdit } from "./support/random-json5.ts";

test("an edit changes what it is to change and no other byte, in 1300 more configurations", async () => {
  for (let seed = 201; seed <= 1500; seed++) expect(await wrongRandomEdit(seed)).toBeUndefined();
});
