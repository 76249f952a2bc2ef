import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { packageFolder } from "../package-folder.ts";
import { UsageError } from "../terminal/usage-error.ts";

/** What Node is given to run this installation: what was built, else the sources of a checkout. Absolute. */
export function ownProgram(): string[] {
  const program = fileURLToPath(new URL("bin/memslot.js", packageFolder));
  if (/[/\\]_npx[/\\]/u.test(program))
    throw new UsageError(
      `this copy lies in the cache of npx (${program}), which is cleared: install memslot with npm install -g memslot, and connect with that`,
    );
  if (existsSync(fileURLToPath(new URL("dist/cli.js", packageFolder)))) return [program];
  return ["--conditions=@memslot/source", fileURLToPath(new URL("src/cli.ts", packageFolder))];
}
