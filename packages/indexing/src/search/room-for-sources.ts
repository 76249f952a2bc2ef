import type { Candidate } from "./rank.ts";

/**
 * The best candidates, with room for each source that has any: out of `limit` places each source keeps at least
 * `limit / (2 × sources)`, one at least, for its own best. So a heap of transcripts does not hide the one note, nor the
 * other way round. One place of two or more is for the best candidate that holds the query exactly: no weight that is
 * given to meaning hides an identifier. `candidates` are in their order, which the answer keeps.
 */
export function withRoomForSources(candidates: readonly Candidate[], limit: number): Candidate[] {
  const sources = new Set(candidates.map(({ row }) => row.source));
  const room = sources.size < 2 || limit < sources.size ? 0 : Math.max(1, Math.floor(limit / (2 * sources.size)));
  const kept = new Set<Candidate>();
  const exact = limit > 1 ? candidates.find((candidate) => candidate.exact) : undefined;
  for (const source of sources) {
    for (const candidate of candidates.filter(({ row }) => row.source === source).slice(0, room)) kept.add(candidate);
  }
  if (exact && kept.size < limit) kept.add(exact);
  for (const candidate of candidates) {
    if (kept.size >= limit) break;
    kept.add(candidate);
  }
  return candidates.filter((candidate) => kept.has(candidate));
}
