import type { MemoryMap } from "@memslot/core";

/** Coordinates of points, -1 to 1. */
export type Places = Pick<MemoryMap, "x" | "y">;

/** Points that are close together. */
export interface Group {
  x: number;
  y: number;
  /** The nearest to the middle first. */
  members: readonly number[];
}

/** Colours. */
const mostKinds = 8;
const fewestPoints = 12;
const mostGroups = 14;
const rounds = 12;

/** Splits points into groups (k-means, Lloyd 1982), the largest first. Equal points give equal groups. */
export function groupsOf({ x, y }: Places): Group[] {
  if (x.length < fewestPoints) return [];
  const gap = (index: number, at: Pick<Group, "x" | "y">): number =>
    ((x[index] ?? 0) - at.x) ** 2 + ((y[index] ?? 0) - at.y) ** 2;
  const groupAround = (members: readonly number[]): Group => {
    const middle = (of: readonly number[]): number =>
      members.reduce((sum, index) => sum + (of[index] ?? 0), 0) / members.length;
    return { x: middle(x), y: middle(y), members };
  };
  const count = Math.min(mostGroups, Math.max(3, Math.round(Math.sqrt(x.length) / 3)));
  let groups: Group[] = [];
  // Each first centre is the point farthest from the others.
  let gaps = x.map(() => Infinity);
  for (let next = 0; groups.length < count;) {
    const centre = groupAround([next]);
    groups.push(centre);
    gaps = gaps.map((before, index) => Math.min(before, gap(index, centre)));
    next = gaps.indexOf(gaps.reduce((most, each) => Math.max(most, each)));
  }
  for (let round = 0; round < rounds; round++) {
    const split = Map.groupBy(x.keys(), (index) =>
      groups.reduce((best, each) => (gap(index, each) < gap(index, best) ? each : best)),
    );
    groups = [...split.values()].map(groupAround);
  }
  const sorted = groups.map(({ members, ...at }) => ({
    ...at,
    members: members.toSorted((a, b) => gap(a, at) - gap(b, at)),
  }));
  return sorted.toSorted((a, b) => b.members.length - a.members.length);
}

/** The names with the most points, `others` as the last kind, and the kind of each point. `names`: those of each note. */
export function kindsOf(
  names: readonly (readonly string[])[],
  note: readonly number[],
  others: string,
): { kinds: string[]; ofPoint: Uint8Array } {
  const sizes = Map.groupBy(
    note.flatMap((index) => names[index] ?? []),
    (name) => name,
  );
  const ordered = [...sizes].toSorted((a, b) => b[1].length - a[1].length).map(([name]) => name);
  const kinds = [...ordered.slice(0, mostKinds - 1), others];
  const ofNote = names.map((own) => kinds.findIndex((kind) => kind === others || own.includes(kind)));
  const ofPoint = Uint8Array.from(note, (index) => ofNote[index] ?? 0);
  return { kinds: ofPoint.includes(kinds.length - 1) ? kinds : kinds.slice(0, -1), ofPoint };
}

/** The folder of a note. Most notes of an agent are below memory/. */
export function folderOf(path: string, top: string): string {
  const folders = path.split("/").slice(0, -1);
  return folders.slice(0, folders[0] === "memory" ? 2 : 1).join("/") || top;
}
