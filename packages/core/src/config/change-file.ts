import { existsSync, realpathSync, statSync } from "node:fs";
import { MemoryError, messageOf } from "../contract/errors.ts";
import { replaceFile } from "../files/replace-file.ts";
import { readConfigBytes, sha256Of } from "./read-file.ts";
import { trustOf, trustWith } from "./trust/trust.ts";

/**
 * Puts another text into a configuration file; one that is not there is made. `change` is given the text that is there,
 * with the mark at its beginning where it has one, and gives the new one. The file is replaced as a whole. One that was
 * trusted with its content is trusted with the new one; of code that it names, what was trusted stays. Throws `CONFIG`
 * where it cannot be read, changed or written.
 */
export async function changeConfigFile(
  file: string,
  change: (text: string | undefined) => Promise<string>,
  { stateDir }: { stateDir: string },
): Promise<void> {
  const isThere = existsSync(file);
  // A link is followed, so that it stays one.
  const path = isThere ? realpathSync.native(file) : file;
  const bytes = isThere ? readConfigBytes(path) : undefined;
  const trust = bytes === undefined ? undefined : trustOf(path, sha256Of(bytes), stateDir);
  let changed: string;
  try {
    changed = await change(bytes && new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes));
  } catch (error) {
    throw new MemoryError("CONFIG", `${path} was left as it is: ${messageOf(error)}; change it with an editor`, {
      cause: error,
    });
  }
  try {
    await replaceFile(path, changed, isThere ? { mode: statSync(path).mode & 0o777 } : {});
  } catch (error) {
    throw new MemoryError("CONFIG", `${path} cannot be written: ${messageOf(error)}; check its folder`, {
      cause: error,
    });
  }
  if (trust !== undefined) await trustWith(path, trust.code, { stateDir });
}
