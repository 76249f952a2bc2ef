import type { SearchOrder } from "@memslot/core";
import type { ChunkRow } from "../../chunk-index.ts";
import { daysOfChunk } from "./chunk-days.ts";

/**
 * In the order of their days, the last ones first unless `oldest` is asked for; of one with several days the last one
 * counts, or the first. Those of one day keep their order, those without one are at the end.
 */
export function byDay<Item>(items: readonly Item[], order: SearchOrder, rowOf: (item: Item) => ChunkRow): Item[] {
  const isOldest = order === "oldest";
  const days = new Map(
    items.map((item) => {
      const own = daysOfChunk(rowOf(item)).map(({ from, to }) => (isOldest ? from : -to));
      return [item, own.length === 0 ? Infinity : Math.min(...own)];
    }),
  );
  return items.toSorted((a, b) => {
    const [left = Infinity, right = Infinity] = [days.get(a), days.get(b)];
    return left === right ? 0 : left - right;
  });
}
