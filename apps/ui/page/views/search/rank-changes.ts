import type { FoundResult } from "../../../src/api/search.ts";
import { keyOf } from "./result-list.tsx";

/** The place of one passage in two answers, counted from 1; absent where it is not in one. */
export interface RankChange {
  key: string;
  label: string;
  now: number | undefined;
  other: number | undefined;
}

/** Every passage of both answers: those of the first in their order, then the new ones. */
export function rankChanges(now: readonly FoundResult[], other: readonly FoundResult[]): RankChange[] {
  const places = new Map<string, RankChange>();
  for (const [index, result] of now.entries())
    places.set(keyOf(result), { key: keyOf(result), label: labelOf(result), now: index + 1, other: undefined });
  for (const [index, result] of other.entries()) {
    const key = keyOf(result);
    const known = places.get(key) ?? { key, label: labelOf(result), now: undefined, other: undefined };
    places.set(key, { ...known, other: index + 1 });
  }
  return [...places.values()];
}

/** How many of the first ten are in the first ten of both. */
export function overlapAt10(changes: readonly RankChange[]): number {
  return changes.filter(({ now = 11, other = 11 }) => now <= 10 && other <= 10).length;
}

function labelOf({ path, startLine }: FoundResult): string {
  return `${path}:${startLine}`;
}
