import path from "node:path";
import { homeDir } from "@memslot/core/host";

export function resolvePath(text: string, cwd: string, env: NodeJS.ProcessEnv): string {
  return path.resolve(
    cwd,
    text.replace(/^~(?=$|[/\\])/u, () => homeDir(env)),
  );
}
