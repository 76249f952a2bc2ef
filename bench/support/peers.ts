import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";

/** A program from npm that is measured beside this project, in the version that the figures are of. */
export interface Peer {
  package: string;
  version: string;
  /** Options of npm beside the name. */
  flags: readonly string[];
}

export const openclawPeer: Peer = { package: "openclaw", version: "2026.9.6", flags: [] };
/** Without its models, and without the 660 MB of programs that would run them: it finds by words here. */
export const qmdPeer: Peer = {
  package: "@tobilu/qmd",
  version: "2.8.3",
  flags: ["--omit=optional", "--ignore-scripts"],
};

const installTimeoutMs = 20 * 60_000;
const kept = path.resolve(import.meta.dirname, "../../.tools/bench");

/**
 * The folder of the package, installed from npm into `.tools/bench` of this clone where it is not there yet: 650 MB for
 * OpenClaw, 200 MB for qmd. Throws when npm fails.
 */
export function installPeer({ package: name, version, flags }: Peer): string {
  const folder = path.join(kept, `${name.replace("@", "").replace("/", "-")}-${version}`);
  const done = path.join(folder, "node_modules", name);
  if (existsSync(path.join(folder, "complete"))) return done;
  console.error(`installing ${name}@${version} into ${folder} …`);
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  writeFileSync(path.join(folder, "package.json"), '{ "private": true }');
  const npm = spawnSync(
    "npm",
    ["install", "--no-audit", "--no-fund", "--loglevel=error", ...flags, `${name}@${version}`],
    { cwd: folder, stdio: ["ignore", 2, 2], shell: process.platform === "win32", timeout: installTimeoutMs },
  );
  if (npm.status !== 0) throw new Error(`${name}@${version} could not be installed: npm ended with ${npm.status}`);
  writeFileSync(path.join(folder, "complete"), "");
  return done;
}
