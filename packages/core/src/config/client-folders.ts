import path from "node:path";
import type { ClientFolders } from "../contract/client-sources.ts";
import { type Environment, homeDir, variable } from "./paths.ts";

/** Where the programs keep their conversations, by their own variables. Nobody looks whether the folders are there. */
export function clientFolders(env: Environment, platform: string = process.platform): ClientFolders {
  let home: string;
  try {
    home = homeDir(env);
  } catch {
    return {}; // Without a home there are none.
  }
  const absolute = (name: string): string | undefined => {
    const value = variable(env, name);
    return value !== undefined && path.isAbsolute(value) ? value : undefined;
  };
  const dataHome = absolute("XDG_DATA_HOME") ?? path.join(home, ".local", "share");
  return {
    "claude-code": [absolute("CLAUDE_CONFIG_DIR") ?? path.join(home, ".claude")],
    codex: [absolute("CODEX_HOME") ?? path.join(home, ".codex")],
    gemini: [path.join(absolute("GEMINI_CLI_HOME") ?? home, ".gemini")],
    opencode: [path.join(dataHome, "opencode")],
    // The program of the command line, and the editor.
    cursor: [path.join(home, ".cursor"), path.join(appConfigDir({ home, env, platform }), "Cursor", "User")],
  };
}

/** Where desktop programs keep their settings. */
export function appConfigDir(where: { env: Environment; home: string; platform: string }): string {
  const { env, home, platform } = where;
  if (platform === "darwin") return path.join(home, "Library", "Application Support");
  if (platform === "win32") return variable(env, "APPDATA") ?? path.join(home, "AppData", "Roaming");
  return variable(env, "XDG_CONFIG_HOME") ?? path.join(home, ".config");
}
