import type { MeaningScale } from "../../fusion/fuse.ts";
import { mostWeight } from "../../fusion/partner-quality.ts";
import type { Candidate } from "../rank.ts";

/** Standard deviations above the mean from which on a cosine says something, and from which on it says all that it can. */
const leastDeviations = 3;
const mostDeviations = 5;
/** A smaller deviation is a rounding: the chunks are all alike, or there is only one. */
const leastDeviation = 0.001;

/**
 * How far the nearest of these chunks answers by its meaning, 0 to 1: by how many standard deviations its cosine is above
 * the mean of the space, times what vectors of this space are worth, of the most
 * that they can be.
 */
export function strengthOfMeaning(candidates: readonly Candidate[], scale: MeaningScale | undefined): number {
  if (scale === undefined || scale.deviation < leastDeviation) return 0;
  const nearest = candidates.reduce((most, { vectorScore = -1 }) => Math.max(most, vectorScore), -1);
  const deviations = (nearest - scale.mean) / scale.deviation;
  const share = Math.min(1, Math.max(0, (deviations - leastDeviations) / (mostDeviations - leastDeviations)));
  return share * Math.min(1, scale.weight / mostWeight);
}
