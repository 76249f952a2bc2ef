import { readFileSync, statfsSync, statSync } from "node:fs";
import { basename } from "node:path";
import fileSystems from "./file-systems.json" with { type: "json" };

/** Local file systems by Linux number: their changes are reported completely and in order. */
const local: ReadonlyMap<string, string> = new Map(Object.entries(fileSystems.local));

const names: ReadonlyMap<string, string> = new Map(Object.entries(fileSystems.layered));

/** Why changes in a folder may be unreported or out of order. Throws errors of `statfs`. */
export function whyNotInOrder(folder: string): string | undefined {
  const type = typeOf(folder);
  if (local.has(type)) return undefined;
  return `${folder} is on ${names.get(type) ?? `an unknown (${type})`} file system`;
}

function typeOf(folder: string): string {
  // It is signed on some machines.
  return `0x${(statfsSync(folder).type >>> 0).toString(16)}`;
}

/** File systems whose changes are made elsewhere. */
const remote: ReadonlyMap<string, string> = new Map(Object.entries(fileSystems.remote));

/** The kind of network or shared file system, if known: a watch misses remote changes. */
export function networkFileSystem(folder: string): string | undefined {
  if (process.platform !== "linux") return undefined;
  try {
    return remote.get(typeOf(folder));
  } catch {
    return undefined;
  }
}

export function mountedFiles(mayBeOne: (name: string) => boolean): Set<string> {
  const files = new Set<string>();
  if (process.platform !== "linux") return files;
  for (const place of readMounts().split("\n").map(placeOf)) {
    // Skip others: a hanging file system could be among them.
    if (!mayBeOne(basename(place))) continue;
    const stats = statSync(place, { bigint: true, throwIfNoEntry: false });
    if (stats?.isFile() === true) files.add(`${stats.dev}:${stats.ino}`);
  }
  return files;
}

/** Tells at each call whether something was mounted on the way to the folders, or below them, since the one before. */
export function createMountCheck(folders: readonly string[], readTable: () => string = readMounts): () => boolean {
  let table = readTable();
  let own = mountsOf(folders, table);
  return () => {
    const before = table;
    table = readTable();
    if (table === before) return false;
    const earlier = own;
    own = mountsOf(folders, table);
    return own !== earlier;
  };
}

function readMounts(): string {
  return readFileSync("/proc/self/mountinfo", "utf8");
}

function mountsOf(folders: readonly string[], table: string): string {
  return table
    .split("\n")
    .filter((line) => {
      const place = placeOf(line);
      return folders.some((folder) => isIn(folder, place) || isIn(place, folder));
    })
    .join("\n");
}

function isIn(place: string, folder: string): boolean {
  return place === folder || place.startsWith(folder === "/" ? folder : `${folder}/`);
}

/** The mount point of a line. The table writes blanks and the like as three octal digits. */
function placeOf(line: string): string {
  const written = line.split(" ", 5)[4] ?? "";
  return written.replaceAll(/\\([0-7]{3})/g, (_, digits: string) => String.fromCharCode(Number.parseInt(digits, 8)));
}
