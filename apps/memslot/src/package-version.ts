import { readFileSync } from "node:fs";

export function packageVersion(): string {
  const text = readFileSync(new URL("package.json", packageFolder), "utf8");
  const { version } = JSON.parse(text) as { version: string };
  return version;
}

/** The folder of this package, with its package.json and its templates. A file directly in `src`: built, it is in `dist`. */
export const packageFolder: URL = new URL("../", import.meta.url);
