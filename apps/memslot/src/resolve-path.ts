import { homedir } from "node:os";
import path from "node:path";

/** A path from the command line made absolute. `~` is the home folder also where no shell has replaced it. */
export function resolvePath(text: string, cwd: string, env: NodeJS.ProcessEnv): string {
  const home = (): string => env["HOME"] ?? env["USERPROFILE"] ?? homedir();
  return path.resolve(cwd, text.replace(/^~(?=$|[/\\])/u, home));
}
