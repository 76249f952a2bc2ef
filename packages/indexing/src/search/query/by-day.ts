import type { SearchOrder } from "@memslot/core";
import type { Days } from "../../text/times/calendar.ts";

/**
 * In the order of their days, the last ones first unless `oldest` is asked for; of what has several days the last one counts,
 * or the first. Those of one day keep their order, those without one are at the end.
 */
export function byDay<Item>(items: readonly Item[], order: SearchOrder, daysOf: (item: Item) => Days[]): Item[] {
  const isOldest = order === "oldest";
  const keys = new Map(
    items.map((item) => {
      const own = daysOf(item).map(({ from, to }) => (isOldest ? from : -to));
      return [item, own.length === 0 ? Infinity : Math.min(...own)];
    }),
  );
  return items.toSorted((a, b) => {
    const [left = Infinity, right = Infinity] = [keys.get(a), keys.get(b)];
    return left === right ? 0 : left - right;
  });
}
