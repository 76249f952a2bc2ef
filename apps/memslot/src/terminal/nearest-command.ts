import { editDistance } from "@memslot/core/host";

/** The nearest known command by edit distance or last word (`search`: `memory search`), if any. */
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
