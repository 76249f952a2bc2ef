import { expect, test } from "vitest";
import type { ClientId } from "@memslot/core";
import { before, connectAtOnce } from "./connect-at-once.ts";

/** Whoever comes second finds the files of the first. */
const clients: readonly ClientId[] = ["claude-code", "cursor", "claude-code", "cursor", "claude-code", "cursor"];

test("six at once leave whole files and one record each, by which all is given back to the byte", async () => {
  expect(await connectAtOnce(clients, 3)).toEqual([before, before]);
});
