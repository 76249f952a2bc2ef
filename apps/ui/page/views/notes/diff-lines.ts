/** A part of two texts: equal lines, or the lines of each. */
export type DiffPart =
  | { kind: "same"; lines: readonly string[] }
  | { kind: "different"; mine: readonly string[]; theirs: readonly string[] };

/** More pairs of lines are not compared: all between the common ends is one part. */
const mostPairs = 4_000_000;

/** Compares two texts line by line. */
export function diffLines(mine: string, theirs: string): DiffPart[] {
  const [a, b] = [mine.split("\n"), theirs.split("\n")];
  let head = 0;
  while (head < a.length && head < b.length && a[head] === b[head]) head++;
  let tail = 0;
  while (tail < a.length - head && tail < b.length - head && a.at(-1 - tail) === b.at(-1 - tail)) tail++;
  const parts: DiffPart[] = [];
  const same = (lines: readonly string[]): void => {
    const last = parts.at(-1);
    if (lines.length === 0) return;
    if (last?.kind === "same") parts[parts.length - 1] = { kind: "same", lines: [...last.lines, ...lines] };
    else parts.push({ kind: "same", lines });
  };
  const different = (own: readonly string[], other: readonly string[]): void => {
    if (own.length === 0 && other.length === 0) return;
    const last = parts.at(-1);
    if (last?.kind === "different")
      parts[parts.length - 1] = {
        kind: "different",
        mine: [...last.mine, ...own],
        theirs: [...last.theirs, ...other],
      };
    else parts.push({ kind: "different", mine: own, theirs: other });
  };
  same(a.slice(0, head));
  middle(a.slice(head, a.length - tail), b.slice(head, b.length - tail), { same, different });
  same(a.slice(a.length - tail));
  return parts;
}

interface Told {
  same: (lines: readonly string[]) => void;
  different: (mine: readonly string[], theirs: readonly string[]) => void;
}

/** By the longest common subsequence of lines. */
function middle(a: readonly string[], b: readonly string[], told: Told): void {
  if (a.length * b.length > mostPairs) return told.different(a, b);
  const width = b.length + 1;
  const longest = new Uint32Array((a.length + 1) * width);
  const at = (i: number, j: number): number => longest[i * width + j] ?? 0;
  for (let i = a.length - 1; i >= 0; i--)
    for (let j = b.length - 1; j >= 0; j--)
      longest[i * width + j] = a[i] === b[j] ? at(i + 1, j + 1) + 1 : Math.max(at(i + 1, j), at(i, j + 1));
  let [i, j] = [0, 0];
  while (i < a.length || j < b.length) {
    if (i < a.length && j < b.length && a[i] === b[j]) {
      told.same([a[i] ?? ""]);
      i++;
      j++;
    } else if (j >= b.length || (i < a.length && at(i + 1, j) >= at(i, j + 1))) told.different([a[i++] ?? ""], []);
    else told.different([], [b[j++] ?? ""]);
  }
}

export type Choice = "mine" | "theirs" | "both";

/** The default choice for each differing part: the side that changed it, or both. */
export function likelyChoices(parts: readonly DiffPart[], base: string): Choice[] {
  const lines = `\n${base}\n`;
  return parts.map((part, index) => {
    if (part.kind === "same") return "mine";
    const [before, after] = [parts[index - 1], parts[index + 1]];
    const from = before?.kind === "same" ? before.lines.slice(-1) : [];
    const to = after?.kind === "same" ? after.lines.slice(0, 1) : [];
    const stood = (own: readonly string[]): boolean => lines.includes(`\n${[...from, ...own, ...to].join("\n")}\n`);
    const [isOld, isTheirsOld] = [stood(part.mine), stood(part.theirs)];
    if (isOld === isTheirsOld) return "both";
    return isOld ? "theirs" : "mine";
  });
}

/** The text made from the choices. */
export function joined(parts: readonly DiffPart[], choices: readonly Choice[]): string {
  return parts
    .flatMap((part, index) => {
      if (part.kind === "same") return part.lines;
      const choice = choices[index];
      if (choice === "both") return [...part.mine, ...part.theirs];
      return choice === "theirs" ? part.theirs : part.mine;
    })
    .join("\n");
}
