import { existsSync, mkdirSync, readdirSync, statSync, writeFileSync } from "node:fs";
import path from "node:path";
import { root } from "./repository.ts";
import { type CommandRun, plainEnvironment, run, tryCommand } from "./run-command.ts";

/** Somebody with an empty folder, a home folder without caches, and a package manager with its default settings. */
export interface Stranger {
  readonly project: string;
  readonly home: string;
  /** Runs a command in the project, or in a folder below it. An exit code other than 0 is an error. */
  run(command: string, options: readonly string[], folder?: string): Promise<CommandRun>;
  /** Installs packages with the package manager of this stranger. */
  install(...packages: string[]): Promise<CommandRun>;
  /** Runs the installed command under `node`, or under the Node of this process. */
  memslot(options: readonly string[], node?: string): Promise<CommandRun>;
  write(files: Readonly<Record<string, string>>): void;
}

export function createStranger(options: {
  folder: string;
  registry: string;
  packageManager: "npm" | "pnpm";
}): Stranger {
  const home = path.join(options.folder, "home");
  const project = path.join(options.folder, "project");
  mkdirSync(home, { recursive: true });
  mkdirSync(project);
  writeFileSync(path.join(home, ".npmrc"), `registry=${options.registry}\n`);
  const env = {
    ...withoutFolders(plainEnvironment()),
    HOME: home,
    USERPROFILE: home,
    LOCALAPPDATA: path.join(home, "AppData", "Local"),
    // The same key as a person's CI: nobody is there to be asked.
    CI: "true",
  };
  const where = { cwd: project, env };
  const write = (files: Readonly<Record<string, string>>): void => {
    for (const [name, text] of Object.entries(files)) {
      const file = path.join(project, name);
      mkdirSync(path.dirname(file), { recursive: true });
      writeFileSync(file, text);
    }
  };
  return {
    project,
    home,
    write,
    run: (command, words, below = ".") => run(command, words, { cwd: path.join(project, below), env }),
    install: (...packages) =>
      run(options.packageManager, [options.packageManager === "npm" ? "install" : "add", ...packages], where),
    memslot: (words, node = process.execPath) =>
      tryCommand(node, [path.join(project, "node_modules/memslot/bin/memslot.js"), ...words], where),
  };
}

/** Notes to search, below `notes`. */
export const strangersNotes: Readonly<Record<string, string>> = {
  "notes/MEMORY.md": "# Memory\n\n- The staging database listens on port 5544.\n",
  "notes/memory/2026-03-05.md": "# 2026-03-05\n\n- 医生说每天要走一万步。\n",
};

/** What a folder takes on disk, in bytes, as `du` counts: whole blocks, each file once. */
export function diskUsage(folder: string): number {
  const seen = new Set<string>();
  let sum = 0;
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    if (entry.isSymbolicLink()) continue;
    const stats = statSync(path.join(entry.parentPath, entry.name));
    const inode = `${stats.dev}:${stats.ino}`;
    if (seen.has(inode)) continue;
    seen.add(inode);
    // Windows counts no blocks.
    sum += stats.blocks === 0 ? stats.size : stats.blocks * 512;
  }
  return sum;
}

/** The binary of another Node, kept beside the launcher's own tools, so that a second run needs no network. */
export async function fetchNode(version: string): Promise<string> {
  const windows = process.platform === "win32";
  const name = `node-${windows ? "win" : process.platform}-${process.arch}`;
  const folder = path.join(root, ".tools", `node-${version}`);
  const binary = path.join(folder, "node_modules", name, "bin", windows ? "node.exe" : "node");
  if (!existsSync(binary)) {
    mkdirSync(folder, { recursive: true });
    writeFileSync(path.join(folder, "package.json"), '{ "private": true }\n');
    writeFileSync(path.join(folder, "pnpm-workspace.yaml"), "packages: []\n");
    await run("pnpm", ["add", "--silent", `${name}@${version}`], { cwd: folder });
  }
  return binary;
}

function withoutFolders(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(env).filter(([name]) => !/^(XDG_.*|PNPM_HOME|INIT_CWD)$/.test(name)));
}
