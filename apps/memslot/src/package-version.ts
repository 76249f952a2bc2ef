import { readFileSync } from "node:fs";
import { packageFolder } from "./package-folder.ts";

/** The version of this package, with which those of its plugins belong together. */
export function packageVersion(): string {
  const text = readFileSync(new URL("package.json", packageFolder), "utf8");
  const { version } = JSON.parse(text) as { version: string };
  return version;
}
