import { accessSync, closeSync, constants, mkdirSync, openSync } from "node:fs";
import { dirname } from "node:path";
import { Damage, Foreign } from "./file-faults.ts";
import { forgetSum } from "./file-sum.ts";
import { inspectFile } from "./inspect-file.ts";
import { fileIdentity, findSidecars, removeSidecars } from "./set-aside.ts";

/**
 * Looks at the file before SQLite does, and makes an empty one where there is none, for its owner alone. Throws
 * `Foreign`, `Damage`, or what the file system throws.
 */
export function prepareFile(path: string, how: { isOwnPlace?: boolean } = {}): void {
  const sidecars = findSidecars(path);
  const isMissing = fileIdentity(path) === undefined;
  const finding = inspectFile(path, how);
  if (finding.kind === "foreign") throw new Foreign(finding.reason);
  if (finding.kind === "damaged") throw new Damage(finding.reason);
  if (isMissing) {
    removeSidecars(path, sidecars);
    forgetSum(path);
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    // SQLite gives the files beside it the mode of this one.
    closeSync(openSync(path, "a", 0o600));
  }
  // SQLite would open it for reading and say nothing.
  accessSync(path, constants.R_OK | constants.W_OK);
}
