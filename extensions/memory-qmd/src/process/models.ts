import { readdir, stat } from "node:fs/promises";
import { homedir } from "node:os";
import { join } from "node:path";

/**
 * Whether the files of all models are on this machine, where qmd looks for them: so that it is never asked for one that
 * it would fetch. A model is named as in `index.yml`, by `hf:owner/repository/file.gguf`, an address or a path.
 */
export async function modelsPresent(
  uris: readonly string[],
  environment: Readonly<Record<string, string | undefined>>,
): Promise<boolean> {
  const folder = modelFolder(environment);
  const names = await readdir(folder).catch(() => []);
  for (const uri of uris) {
    if (!(await isPresent(uri, folder, names))) return false;
  }
  return true;
}

/** The folder that all qmd indexes of a person share for their models. */
function modelFolder(environment: Readonly<Record<string, string | undefined>>): string {
  const home = environment["HOME"] || environment["USERPROFILE"] || homedir();
  return join(environment["XDG_CACHE_HOME"] || join(home, ".cache"), "qmd", "models");
}

async function isPresent(uri: string, folder: string, names: readonly string[]): Promise<boolean> {
  if (!/^[a-z][a-z0-9+.-]+:/i.test(uri)) return isFile(uri);
  const file =
    uri
      .replace(/[?#].*$/, "")
      .split("/")
      .at(-1) ?? "";
  if (!/\.gguf$/i.test(file)) return false;
  // There it has the repository in front of its name. Beside it there may be a part of it and its tag, with other endings.
  const found = names.find((name) => name.endsWith(file));
  return found !== undefined && isFile(join(folder, found));
}

async function isFile(path: string): Promise<boolean> {
  const facts = await stat(path).catch(() => undefined);
  return facts?.isFile() === true && facts.size > 0;
}
