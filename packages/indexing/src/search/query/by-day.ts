import type { SearchOrder } from "@memslot/core";
import type { ChunkRow } from "../../chunk-index.ts";
import { daysOfChunk } from "./chunk-days.ts";

/**
 * In the order of their days, the last ones first unless `oldest` is asked for. Those of one day keep their order, those
 * without one are at the end.
 */
export function byDay<Item>(
  items: readonly Item[],
  order: SearchOrder,
  rowOf: (item: Item) => Pick<ChunkRow, "path" | "context">,
): Item[] {
  const sign = order === "oldest" ? 1 : -1;
  const days = new Map(items.map((item) => [item, daysOfChunk(rowOf(item))]));
  return items.toSorted((a, b) => {
    const [left, right] = [days.get(a), days.get(b)];
    if (left === undefined || right === undefined) return Number(left === undefined) - Number(right === undefined);
    return sign * (left.from - right.from || left.to - right.to);
  });
}
