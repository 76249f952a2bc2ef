import { fileURLToPath } from "node:url";
import { UsageError } from "./terminal/usage-error.ts";

// Directly in `src`, as the built file is directly in `dist`; with no other file that names a place, as `--help` loads those.

/** What Node is given to run what runs now: the built command, or the sources of a checkout. Absolute. */
export function ownProgram(): string[] {
  if (import.meta.url.endsWith(".ts"))
    return ["--conditions=@memslot/source", fileURLToPath(new URL("cli.ts", import.meta.url))];
  const program = fileURLToPath(new URL("../bin/memslot.js", import.meta.url));
  if (/[/\\]_npx[/\\]/u.test(program))
    throw new UsageError(
      `this copy lies in the cache of npx (${program}), which is cleared: install memslot with npm install -g memslot, and connect with that`,
    );
  return [program];
}
