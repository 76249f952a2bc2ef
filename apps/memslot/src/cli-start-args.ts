import { fileURLToPath } from "node:url";
import { UsageError } from "./terminal/exit-code.ts";

// Directly in `src`, because the built file is directly in `dist`. A file of its own, because `--help` must not load it.

export function ownProgram(): string[] {
  if (import.meta.url.endsWith(".ts"))
    return ["--conditions=@memslot/source", fileURLToPath(new URL("cli.ts", import.meta.url))];
  const program = fileURLToPath(new URL("../bin/memslot.js", import.meta.url));
  if (/[/\\]_npx[/\\]/u.test(program))
    throw new UsageError(
      `this copy is in the npx cache (${program}), which is temporary: install memslot permanently and run connect from there`,
    );
  return [program];
}
