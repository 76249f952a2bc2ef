import { readFile, realpath } from "node:fs/promises";
import { dirname, join } from "node:path";

export interface QmdPackage {
  folder: string;
  version: string;
}

/**
 * The package that a command belongs to: the nearest `package.json` named `@tobilu/qmd` above the file that the command
 * really is. npm on Windows and pnpm everywhere put a small script in its place, which names the file in the package.
 */
export async function findPackage(command: string): Promise<QmdPackage | undefined> {
  const file = await realpath(command);
  const above = await packageAbove(dirname(file));
  if (above !== undefined) return above;
  const target = await shimTarget(file);
  return target === undefined ? undefined : packageAbove(dirname(target));
}

async function packageAbove(start: string): Promise<QmdPackage | undefined> {
  for (let folder = start; ; folder = dirname(folder)) {
    const version = await versionIn(folder);
    if (version !== undefined) return { folder, version };
    if (dirname(folder) === folder) return undefined;
  }
}

async function versionIn(folder: string): Promise<string | undefined> {
  try {
    const manifest = JSON.parse(await readFile(join(folder, "package.json"), "utf8")) as Record<string, unknown>;
    return manifest["name"] === "@tobilu/qmd" && typeof manifest["version"] === "string"
      ? manifest["version"]
      : undefined;
  } catch {
    return undefined; // There is none, or it is no manifest.
  }
}

/** A shim is short; what is longer is a program. */
const longestShim = 16 * 1024;

/**
 * The file that a shim starts: of `"%dp0%\node_modules\@tobilu\qmd\bin\qmd"` in a `.cmd`, of
 * `"$basedir/../@tobilu/qmd/bin/qmd"` in a shell script. A path may have spaces and either kind of slash.
 */
async function shimTarget(file: string): Promise<string | undefined> {
  const text = await readFile(file, "latin1").catch(() => "");
  if (text.length > longestShim || text.includes("\0")) return undefined;
  const named = /"([^"\n]*@tobilu[\\/]qmd[\\/]bin[\\/]qmd[^"\n]*)"/.exec(text)?.[1];
  if (named === undefined) return undefined;
  const place = dirname(file);
  const path = Buffer.from(named, "latin1").toString("utf8").replaceAll("\\", "/");
  const own = path.replace(/^(?:%~?dp0%?|\$basedir|\$\{basedir\})/, "");
  const target = own === path ? path : join(place, own);
  return realpath(target).catch(() => undefined);
}
