import type { Candidate } from "./rank.ts";

/**
 * Makes one result of candidates that are the same find: their lines overlap, and the best line of the lower one is in
 * the range of the higher. Only the first `wanted` places are worked on; a group keeps the place and score of its best.
 */
export function mergeOverlaps(candidates: readonly Candidate[], wanted: number): Candidate[] {
  const kept: Candidate[] = [];
  const unions = new Set<Candidate>();
  for (const candidate of candidates) {
    const neighbour =
      kept.length < wanted ? kept.find((other) => !unions.has(other) && isSameFind(other, candidate)) : undefined;
    if (!neighbour) {
      kept.push(candidate);
      continue;
    }
    const union = unite(neighbour, candidate);
    unions.add(union);
    kept[kept.indexOf(neighbour)] = union;
  }
  return kept;
}

function isSameFind(better: Candidate, other: Candidate): boolean {
  const [a, b] = [better.row, other.row];
  // The text of a transcript is not made of the lines of its file.
  if (a.source === "sessions" || a.source === "journal") return false;
  if (a.path !== b.path || a.source !== b.source || a.startLine > b.endLine || b.startLine > a.endLine) return false;
  const bestLine = b.startLine + indexOfBestLine(other);
  return bestLine >= a.startLine && bestLine <= a.endLine;
}

/** The line with the most words of the query, counted from 0. */
export function indexOfBestLine(candidate: Candidate): number {
  const counts = candidate.matches.lines.map((line) => line.counts.size);
  return Math.max(0, counts.indexOf(Math.max(...counts)));
}

/** One candidate over both ranges. Pieces of one long line follow each other as if they were lines. */
function unite(better: Candidate, other: Candidate): Candidate {
  const [first, second] = other.row.startLine < better.row.startLine ? [other, better] : [better, other];
  const piecesOfOneLine = first.row.startLine === first.row.endLine && second.row.startLine === second.row.endLine;
  const shared = piecesOfOneLine ? 0 : first.row.endLine - second.row.startLine + 1;
  return {
    ...better,
    row: {
      ...better.row,
      startLine: first.row.startLine,
      endLine: Math.max(first.row.endLine, second.row.endLine),
      context: first.row.context,
    },
    lines: [...first.lines, ...second.lines.slice(shared)],
    matches: {
      lines: [...first.matches.lines, ...second.matches.lines.slice(shared)],
      counts: new Map([...other.matches.counts, ...better.matches.counts]),
      words: better.matches.words + other.matches.words,
    },
    exact: better.exact || other.exact,
  };
}
