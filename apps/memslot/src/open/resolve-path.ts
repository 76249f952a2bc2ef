import path from "node:path";
import { homeDir } from "@memslot/core";

/** A path from the command line made absolute. `~` is the home folder also where no shell has replaced it. */
export function resolvePath(text: string, cwd: string, env: NodeJS.ProcessEnv): string {
  return path.resolve(
    cwd,
    text.replace(/^~(?=$|[/\\])/u, () => homeDir(env)),
  );
}
