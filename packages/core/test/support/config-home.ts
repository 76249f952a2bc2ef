import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { tempFolder } from "@memslot/test-tools/files";
import { type LoadConfigOptions, type MemslotConfig, MemoryError, loadConfig } from "@memslot/core";

/** A computer of its own: a home folder with its state folder, and a project folder to work in. Removed as a `tempFolder` is. */
export interface ConfigHome {
  home: string;
  stateDir: string;
  project: string;
  env: Record<string, string>;
  /** Writes a file; text as it is, anything else as JSON. Returns its path. */
  write(path: string, content: unknown): string;
  load(options?: LoadConfigOptions): Promise<MemslotConfig>;
}

export function createConfigHome(): ConfigHome {
  const root = tempFolder();
  const [home, project] = [join(root, "home"), join(root, "project")];
  mkdirSync(home);
  mkdirSync(project);
  const env = { HOME: home };
  return {
    home,
    stateDir: join(home, ".memslot"),
    project,
    env,
    write(path, content) {
      mkdirSync(dirname(path), { recursive: true });
      writeFileSync(path, typeof content === "string" ? content : JSON.stringify(content));
      return path;
    },
    load: (options = {}) => loadConfig({ cwd: project, env, ...options }),
  };
}

/** The error of a call that must fail with this code. */
export async function failure(code: MemoryError["code"], call: () => unknown): Promise<string> {
  try {
    await call();
  } catch (error) {
    if (MemoryError.is(error, code)) return error.message;
    throw error;
  }
  throw new Error(`nothing failed; ${code} was expected`);
}

/** A configuration that sets one key, written with dots. */
export function withKey(path: string, value: unknown): Record<string, unknown> {
  return path
    .split(".")
    .toReversed()
    .reduce<unknown>((inner, name) => ({ [name]: inner }), value) as Record<string, unknown>;
}
