import { readFileSync, statfsSync, statSync } from "node:fs";
import { basename } from "node:path";

/**
 * Local file systems, by the number that Linux gives them: all that changes them goes through this kernel, which tells of
 * it in the order in which it happens. Layered, shared and network file systems are not among them.
 */
const local: ReadonlySet<number> = new Set([
  0xef53, // ext2, ext3, ext4
  0x58465342, // XFS
  0x9123683e, // Btrfs
  0xf2f52010, // F2FS
  0xca451a4e, // bcachefs
  0x2fc12fc1, // ZFS
  0x01021994, // tmpfs
  0x858458f6, // ramfs
]);

/** Those that somebody may meet and wonder. */
const names = new Map([
  [0x794c7630, "an overlay"],
  [0x65735546, "a FUSE"],
  [0x6969, "an NFS"],
  [0x01021997, "a 9P"],
]);

/** Why what happens in a folder may not all be told, or not in order. Throws what `statfs` throws. */
export function whyNotInOrder(folder: string): string | undefined {
  // The number is signed on some machines.
  const type = statfsSync(folder).type >>> 0;
  if (local.has(type)) return undefined;
  return `${folder} is on ${names.get(type) ?? `an unknown (0x${type.toString(16)})`} file system`;
}

/**
 * Files that are mount points, such as notes mounted into a container one by one, as `device:inode`. A change under the
 * other path of such a file reports nothing to a watch of the folder.
 */
export function mountedFiles(mayBeOne: (name: string) => boolean): Set<string> {
  const files = new Set<string>();
  if (process.platform !== "linux") return files;
  for (const place of readMounts().split("\n").map(placeOf)) {
    // Others are not asked about: a file system that hangs would be among them.
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
