import { expect, test } from "vitest";
import { refine } from "../page/views/map/umap-layout.ts";
import { expectNeighbours, dimensions, heaps } from "./support/layout.ts";

test("200 points are laid out beside those that they were near, the same each time", () => expectNeighbours(200));

test("a few points are not laid out, and points that are all one are", () => {
  expect(refine({ values: heaps(10, 2), dimensions })).toBeUndefined();
  const places = refine({ values: new Int8Array(40 * dimensions), dimensions });
  expect(places?.x.every((value) => Number.isFinite(value))).toBe(true);
});
