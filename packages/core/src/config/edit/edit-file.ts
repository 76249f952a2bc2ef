import { randomUUID } from "node:crypto";
import {
  chmodSync,
  closeSync,
  existsSync,
  fsyncSync,
  mkdirSync,
  openSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  writeSync,
} from "node:fs";
import { dirname } from "node:path";
import { MemoryError, messageOf } from "../../contract/errors.ts";
import { type ConfigEdit, editConfigText } from "./edit-text.ts";
import { dropOldDrafts } from "./old-drafts.ts";
import { readConfigBytes, sha256Of } from "../read-file.ts";
import { trustOf, trustWith } from "../trust/trust.ts";

const newFile = `// The configuration of memslot, in JSON5: comments and commas at the end are fine.
// \`memslot config\` shows every key, its value and where it comes from.
{
}
`;

/**
 * Makes changes in a configuration file and leaves everything else in it as it is, to the byte; a file that is not there
 * is made. The file is replaced as a whole. One that was trusted with its content is trusted with the new one. Throws
 * `CONFIG` where it cannot be read, written, or changed without changing something else.
 */
export async function editConfigFile(
  file: string,
  edits: readonly ConfigEdit[],
  { stateDir }: { stateDir: string },
): Promise<void> {
  const isThere = existsSync(file);
  // A link is followed, so that it stays one.
  const path = isThere ? realpathSync.native(file) : file;
  const bytes = isThere ? readConfigBytes(path) : Buffer.from(newFile);
  const trust = isThere ? trustOf(path, sha256Of(bytes), stateDir) : undefined;
  let edited: string;
  try {
    // The mark at the beginning stays where there is one.
    edited = await editConfigText(new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes), edits);
  } catch (error) {
    throw new MemoryError("CONFIG", `${path} was left as it is: ${messageOf(error)}; change it with an editor`, {
      cause: error,
    });
  }
  replaceFile(path, edited, isThere ? statSync(path).mode & 0o777 : 0o600);
  if (trust !== undefined) await trustWith(path, trust.code, { stateDir });
}

/** A crash leaves the old file or the new one. */
function replaceFile(path: string, text: string, mode: number): void {
  const draft = `${path}.${randomUUID()}.tmp`;
  try {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    dropOldDrafts(path);
    const handle = openSync(draft, "wx", mode);
    try {
      writeSync(handle, text);
      fsyncSync(handle);
    } finally {
      closeSync(handle);
    }
    // Not less than before, whatever the umask takes away.
    chmodSync(draft, mode);
    renameSync(draft, path);
  } catch (error) {
    rmSync(draft, { force: true });
    throw new MemoryError("CONFIG", `${path} cannot be written: ${messageOf(error)}; check its folder`, {
      cause: error,
    });
  }
}
