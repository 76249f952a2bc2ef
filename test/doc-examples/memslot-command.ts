import { chmodSync, mkdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import { root } from "../support/markdown-examples.ts";
import type { Place } from "./place.ts";

/** Makes a command `memslot` that runs from its sources. Gives the PATH on which it comes first. */
export function memslotOnPath({ folder }: Place): string {
  const bin = path.join(folder, "bin");
  mkdirSync(bin);
  const cli = path.join(root, "apps/memslot/src/cli.ts");
  const command = path.join(bin, "memslot");
  writeFileSync(command, `#!/bin/sh\nexec "${process.execPath}" --conditions=@memslot/source "${cli}" "$@"\n`);
  chmodSync(command, 0o755);
  return `${bin}${path.delimiter}${process.env["PATH"]}`;
}
