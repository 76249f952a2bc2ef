import { expect } from "vitest";
import { type FillOptions, type FillOutcome, fillSpace } from "../../../src/embedding/fill.ts";
import { never } from "../../support/context.ts";
import { vectorOf } from "./scripted-requests.ts";
import { hashOf, space, type SpaceStore } from "./space-store.ts";

/** A fill with four requests at one time, no budget and no batch interface, if the test does not say otherwise. */
export async function fillWith(
  store: SpaceStore,
  requests: FillOptions["requests"],
  change: Partial<FillOptions> = {},
): Promise<FillOutcome | undefined> {
  return await fillSpace({
    store,
    space,
    requests,
    concurrency: 4,
    tokensLeft: undefined,
    batch: undefined,
    reason: "test",
    asked: false,
    signal: never,
    progress: () => undefined,
    ...change,
  });
}

/** The store holds the vectors of these texts, each its own, and no others. */
export function expectFilled(store: SpaceStore, expected: readonly string[]): void {
  expect([...store.vectors.keys()].toSorted()).toEqual(expected.map((text) => hashOf(text)).toSorted());
  for (const text of expected) expect(store.vectors.get(hashOf(text))).toEqual(vectorOf(text));
}
