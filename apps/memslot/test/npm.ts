import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { cp, mkdir, readdir, symlink } from "node:fs/promises";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { tempFolder } from "@memslot/test-tools/files";
import { findNpm } from "../src/plugins/run-npm.ts";
import { type Sandbox, createSandbox } from "./run-memslot.ts";

/** No registry, and no waiting for one. */
const noRegistry = { npm_config_registry: "http://127.0.0.1:9/", npm_config_fetch_retries: "0" };

export async function sandboxOffline(): Promise<Sandbox> {
  const sandbox = await createSandbox();
  Object.assign(sandbox.env, noRegistry);
  return sandbox;
}

/** Packs a folder with npm, and says where the tarball lies. */
export async function packed(folder: string): Promise<string> {
  const npm = findNpm(process.execPath, process.env);
  if (npm === undefined) throw new Error("npm is not there");
  await promisify(execFile)(npm.program, [...npm.args.slice(-1), "pack", folder], { cwd: path.dirname(folder) });
  const [tarball] = (await readdir(path.dirname(folder))).filter((name) => name.endsWith(".tgz"));
  return path.join(path.dirname(folder), tarball ?? "nothing was packed");
}

const app = fileURLToPath(new URL("..", import.meta.url));
const { dependencies, devDependencies } = JSON.parse(readFileSync(path.join(app, "package.json"), "utf8")) as Readonly<
  Record<"dependencies" | "devDependencies", Readonly<Record<string, string>>>
>;
/** What comes with the command, and libraries that are joined into it: no other backend, no embedding provider. */
const names = [
  ...Object.keys(dependencies),
  ...Object.keys(devDependencies).filter((name) => !name.startsWith("@memslot/")),
];

/** The command as `npm install memslot` leaves it. Gives the file that starts it. */
export async function leanInstall(): Promise<string> {
  const folder = tempFolder();
  for (const part of ["src", "templates", "package.json"])
    await cp(path.join(app, part), path.join(folder, part), { recursive: true });
  for (const name of names) {
    const link = path.join(folder, "node_modules", name);
    await mkdir(path.dirname(link), { recursive: true });
    await symlink(path.join(app, "node_modules", name), link, "junction");
  }
  return path.join(folder, "src/cli.ts");
}
