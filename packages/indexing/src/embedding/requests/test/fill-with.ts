import { expect } from "vitest";
import type { Budget } from "../budget.ts";
import { type FillOptions, type FillOutcome, fillSpace } from "../../fill/fill.ts";
import { never } from "../../../../test/support/context.ts";
import { vectorOf } from "./scripted-requests.ts";
import { hashOf, space, type SpaceStore } from "../../../../test/support/space-store.ts";

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
    budget: undefined,
    batch: undefined,
    reason: "test",
    asked: false,
    signal: never,
    progress: () => undefined,
    ...change,
  });
}

/** A budget that is told from outside what is left of it. */
export function budgetOf(left: () => number): Budget {
  const reason =
    "the token budget of today is spent (memorySearch.budget.tokensPerDay); embedding goes on tomorrow, keywords go on now";
  return { left, take: () => ({ settle: () => undefined }), stop: () => ({ reason }) };
}

/** The store holds the vectors of these texts, each its own, and no others. */
export function expectFilled(store: SpaceStore, expected: readonly string[]): void {
  expect([...store.vectors.keys()].toSorted()).toEqual(expected.map((text) => hashOf(text)).toSorted());
  for (const text of expected) expect(store.vectors.get(hashOf(text))).toEqual(vectorOf(text));
}
