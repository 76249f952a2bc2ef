import { execFile } from "node:child_process";
import { readdir } from "node:fs/promises";
import path from "node:path";
import { promisify } from "node:util";
import { type Sandbox, createSandbox } from "../../../test/run-memslot.ts";
import { findNpm } from "../run-npm.ts";

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
