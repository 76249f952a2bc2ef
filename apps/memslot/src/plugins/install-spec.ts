import { existsSync, statSync } from "node:fs";
import path from "node:path";
import { MemoryError } from "@memslot/core";
import { offeredPlugins } from "@memslot/core/host";
import { packageVersion } from "../package-version.ts";
import { resolvePath } from "../open/resolve-path.ts";
import { UsageError } from "../terminal/usage-error.ts";

export interface InstallSpec {
  spec: string;
  /** The package name, if known before the installation. */
  packageName: string | undefined;
  /** The id of an official plugin. */
  official: string | undefined;
}

const looksLikePath = /^(?:\.{1,2}(?:[/\\]|$)|[/\\]|~[/\\]|[a-z]:[/\\])|\.(?:tgz|tar\.gz)$/iu;
const packageSpec = /^(?<name>(?:@[a-z0-9~-][\w.~-]*\/)?[a-z0-9~][\w.~-]*)(?:@(?<range>[^\s@/:]+))?$/iu;

/** Reads the argument of `plugins add`: an official id (in this version), a package, a tarball or a folder. Throws. */
export function installSpec(typed: string, { cwd, env }: { cwd: string; env: NodeJS.ProcessEnv }): InstallSpec {
  const official = offeredPlugins(import.meta.url).find(({ id, packageName }) => id === typed || packageName === typed);
  if (official !== undefined) {
    const { id, packageName } = official;
    return { spec: `${packageName}@${packageVersion()}`, packageName, official: id };
  }
  const parts = packageSpec.exec(typed)?.groups;
  const file = resolvePath(typed, cwd, env);
  // A folder needs a leading ./ only if its name could be a package name.
  if (looksLikePath.test(typed) || (parts === undefined && existsSync(file)))
    return { ...pathSpec(file), official: undefined };
  if (parts === undefined)
    throw new UsageError(`"${typed}" is not an id, a package name, or a path to a tarball or folder`);
  return { spec: typed, packageName: parts["name"], official: undefined };
}

function pathSpec(file: string): Pick<InstallSpec, "spec" | "packageName"> {
  if (!existsSync(file)) throw new MemoryError("PLUGIN", `${file} does not exist; pass a tarball or a folder`);
  const manifest = path.join(file, "memslot.plugin.json");
  if (statSync(file).isDirectory() && !existsSync(manifest))
    throw new MemoryError("PLUGIN", `${file} is not a memslot plugin: ${manifest} is missing`);
  return { spec: file, packageName: undefined };
}

/** The npm command for a shell. */
export function shellLine(args: readonly string[]): string {
  const quoted = args.map((arg) =>
    /^[\w@%+=:,./^~\\-]+$/u.test(arg) ? arg : `"${arg.replaceAll(/(["$`])/gu, "\\$1")}"`,
  );
  return ["npm", ...quoted].join(" ");
}
