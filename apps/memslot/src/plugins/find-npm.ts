import { existsSync, realpathSync } from "node:fs";
import path from "node:path";

/** How npm is started. */
export interface NpmCommand {
  program: string;
  /** Before its own: the script where npm is one. */
  args: readonly string[];
  /** Where it was found. */
  file: string;
}

/**
 * The npm that lies beside a Node, else the first on the PATH. It is started as a script of this Node wherever that can
 * be: then there is no shell between, on no system. Undefined where there is none.
 */
export function findNpm(node: string, env: NodeJS.ProcessEnv): NpmCommand | undefined {
  const folder = path.dirname(node);
  const beside = [folder, path.join(folder, "..", "lib")].map(scriptBelow).find((file) => existsSync(file));
  if (beside !== undefined) return asScript(node, path.normalize(beside));
  for (const place of (env["PATH"] ?? env["Path"] ?? "").split(path.delimiter)) {
    if (place === "") continue;
    const found = path.join(place, "npm");
    const script = [realPath(found) ?? "", scriptBelow(place)].find((file) => file.endsWith(".js") && existsSync(file));
    if (script !== undefined) return asScript(node, script);
    // A version manager's own program in place of npm. That of Windows is a batch file, which needs a shell.
    if (process.platform !== "win32" && existsSync(found)) return { program: found, args: [], file: found };
  }
  return undefined;
}

function scriptBelow(folder: string): string {
  return path.join(folder, "node_modules", "npm", "bin", "npm-cli.js");
}

/** It ends when this process ends, however that happens: then the pipe that it reads is closed. */
function asScript(node: string, file: string): NpmCommand {
  const endWithParent =
    "process.stdin.on('end',()=>process.exit(1)).on('error',()=>process.exit(1)).resume().unref?.()";
  return { program: node, args: ["--import", `data:text/javascript,${encodeURIComponent(endWithParent)}`, file], file };
}

function realPath(file: string): string | undefined {
  try {
    return realpathSync(file);
  } catch {
    return undefined; // Not there.
  }
}
