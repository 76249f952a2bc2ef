import { fileURLToPath } from "node:url";
import { packageFolder, runsSources } from "../package-folder.ts";
import { UsageError } from "../terminal/usage-error.ts";

/** What Node is given to run what runs now: the built command, or the sources of a checkout. Absolute. */
export function ownProgram(): string[] {
  if (runsSources) return ["--conditions=@memslot/source", fileURLToPath(new URL("src/cli.ts", packageFolder))];
  const program = fileURLToPath(new URL("bin/memslot.js", packageFolder));
  if (/[/\\]_npx[/\\]/u.test(program))
    throw new UsageError(
      `this copy lies in the cache of npx (${program}), which is cleared: install memslot with npm install -g memslot, and connect with that`,
    );
  return [program];
}
