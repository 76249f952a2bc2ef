import { MemoryError } from "../contract/errors.ts";

/** As `engines` of the package has it. */
const needed = [22, 22] as const;

/** Throws `CONFIG` with the Node that is needed where this one is older: what it lacks would be named in its place. */
export function checkNode(version: string = process.versions.node): void {
  const [major = 0, minor = 0] = version.split(".").map(Number);
  if (major > needed[0] || (major === needed[0] && minor >= needed[1])) return;
  throw new MemoryError(
    "CONFIG",
    `memslot needs Node ${needed.join(".")} or newer, and this is ${version} (${process.execPath}); install a newer one from https://nodejs.org`,
  );
}
