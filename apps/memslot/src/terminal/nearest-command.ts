/**
 * The known command nearest to what was typed, by edit distance or because it is the last word of one: `search` is
 * answered by `memory search`. Undefined where none is near.
 */
export function nearestCommand(typed: string, known: readonly string[]): string | undefined {
  let nearest: string | undefined;
  let least = Number.POSITIVE_INFINITY;
  for (const command of known) {
    const word = command.split(" ").at(-1) ?? command;
    const distance = editDistance(typed.toLowerCase(), word);
    if (distance < least && distance <= Math.max(1, Math.floor(word.length / 2))) {
      nearest = command;
      least = distance;
    }
  }
  return nearest;
}

/** Insertions, deletions, replacements and swaps of neighbours. */
function editDistance(left: string, right: string): number {
  const rows: number[][] = [Array.from({ length: right.length + 1 }, (_, column) => column)];
  const at = (row: number, column: number): number => rows[row]?.[column] ?? 0;
  for (let row = 1; row <= left.length; row++) {
    rows[row] = [row];
    for (let column = 1; column <= right.length; column++) {
      const same = left[row - 1] === right[column - 1];
      let best = Math.min(at(row - 1, column) + 1, at(row, column - 1) + 1, at(row - 1, column - 1) + (same ? 0 : 1));
      const swapped =
        row > 1 && column > 1 && left[row - 1] === right[column - 2] && left[row - 2] === right[column - 1];
      if (swapped) best = Math.min(best, at(row - 2, column - 2) + 1);
      rows[row]?.push(best);
    }
  }
  return at(left.length, right.length);
}
