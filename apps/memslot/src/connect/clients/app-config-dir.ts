import path from "node:path";
import type { ClientPlace } from "../client.ts";

/** Where desktop programs keep their settings. */
export function appConfigDir({ env, home, platform }: Pick<ClientPlace, "env" | "home" | "platform">): string {
  if (platform === "darwin") return path.join(home, "Library", "Application Support");
  if (platform === "win32") return env["APPDATA"] || path.join(home, "AppData", "Roaming");
  return env["XDG_CONFIG_HOME"] || path.join(home, ".config");
}
