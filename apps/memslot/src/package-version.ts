import { readFileSync } from "node:fs";
import { packageFolder } from "./package-folder.ts";

export function packageVersion(): string {
  const text = readFileSync(new URL("package.json", packageFolder), "utf8");
  const { version } = JSON.parse(text) as { version: string };
  return version;
}
