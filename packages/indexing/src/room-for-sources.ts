import type { Candidate } from "./rank.ts";

/**
 * The best candidates, with room for each source that has any: out of `limit` places each source keeps at least
 * `limit / (2 × sources)`, one at least, for its own best. So a heap of transcripts does not hide the one note, nor the
 * other way round. `candidates` are in their order, which the answer keeps.
 */
export function withRoomForSources(candidates: readonly Candidate[], limit: number): Candidate[] {
  const sources = new Set(candidates.map(({ row }) => row.source));
  if (sources.size < 2 || limit < sources.size) return candidates.slice(0, limit);
  const room = Math.max(1, Math.floor(limit / (2 * sources.size)));
  const kept = new Set<Candidate>();
  for (const source of sources) {
    for (const candidate of candidates.filter(({ row }) => row.source === source).slice(0, room)) kept.add(candidate);
  }
  for (const candidate of candidates) {
    if (kept.size >= limit) break;
    kept.add(candidate);
  }
  return candidates.filter((candidate) => kept.has(candidate));
}
