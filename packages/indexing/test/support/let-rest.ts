import { lstatSync } from "node:fs";

/**
 * Waits until the last change of these files is old enough for any later one to show in what the file system tells of
 * them. Its time cannot be set, only waited for.
 */
export function letRest(...files: string[]): void {
  const cell = new Int32Array(new SharedArrayBuffer(4));
  for (const file of files) while (Date.now() - lstatSync(file).ctimeMs <= 60) Atomics.wait(cell, 0, 0, 10);
}
