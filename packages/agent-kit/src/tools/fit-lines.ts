/** The part of a text that is shown where its whole is too long. */
export interface FittedLines {
  text: string;
  /** Lines of the whole text. */
  totalLines: number;
  /** Lines that are missing or cut short. */
  omittedLines: number;
}

/** Keeps as many whole lines as fit, from the start or from the end; where not one fits, a piece of the nearest. */
export function fitLines(text: string, maxChars: number, keep: "start" | "end"): FittedLines {
  const lines = linesOf(text);
  const ordered = keep === "start" ? lines : lines.toReversed();
  const kept: string[] = [];
  let used = 0;
  for (const line of ordered) {
    const cost = line.length + (kept.length > 0 ? 1 : 0);
    if (used + cost > maxChars) break;
    kept.push(line);
    used += cost;
  }
  const omittedLines = lines.length - kept.length;
  const first = ordered[0];
  if (kept.length === 0 && first !== undefined && maxChars > 0) kept.push(headOf(first, maxChars));
  return {
    text: (keep === "start" ? kept : kept.toReversed()).join("\n"),
    totalLines: lines.length,
    omittedLines,
  };
}

/** Shares a budget between parts: a part that needs less than its share leaves the rest to the others. */
export function shareBudget(needs: readonly number[], budget: number): number[] {
  const shares = needs.map(() => 0);
  let rest = Math.max(0, budget);
  const byNeed = needs.map((need, index) => ({ need, index })).sort((a, b) => a.need - b.need);
  for (const [position, { need, index }] of byNeed.entries()) {
    const share = Math.min(need, Math.floor(rest / (byNeed.length - position)));
    shares[index] = share;
    rest -= share;
  }
  return shares;
}

/** Lines as `memory_get` counts them: nothing comes after the last line break. */
export function linesOf(text: string): string[] {
  if (text === "") return [];
  return (text.endsWith("\n") ? text.slice(0, -1) : text).split("\n");
}

/** Never ends in half a surrogate pair. */
function headOf(line: string, maxChars: number): string {
  const head = line.slice(0, maxChars);
  return /[\uD800-\uDBFF]$/.test(head) ? head.slice(0, -1) : head;
}
