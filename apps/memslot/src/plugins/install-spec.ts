import { existsSync, statSync } from "node:fs";
import path from "node:path";
import { MemoryError, offeredPlugins } from "@memslot/core";
import { packageVersion } from "../package-version.ts";
import { resolvePath } from "../open/resolve-path.ts";
import { UsageError } from "../terminal/usage-error.ts";

/** What npm is asked to install. */
export interface InstallSpec {
  spec: string;
  /** The name of the package, where it is known before. */
  packageName: string | undefined;
  /** The id, for a plugin of this project. */
  official: string | undefined;
}

const looksLikePath = /^(?:\.{1,2}(?:[/\\]|$)|[/\\]|~[/\\]|[a-z]:[/\\])|\.(?:tgz|tar\.gz)$/iu;
const packageSpec = /^(?<name>(?:@[a-z0-9~-][\w.~-]*\/)?[a-z0-9~][\w.~-]*)(?:@(?<range>[^\s@/:]+))?$/iu;

/**
 * Gives what was typed its meaning: the id of a plugin of this project, the name of a package (with `@version`), a
 * tarball or a folder. Those of this project are taken in the version of this command. Throws for anything else.
 */
export function installSpec(typed: string, { cwd, env }: { cwd: string; env: NodeJS.ProcessEnv }): InstallSpec {
  const official = offeredPlugins(import.meta.url).find(({ id, packageName }) => id === typed || packageName === typed);
  if (official !== undefined) {
    const { id, packageName } = official;
    return { spec: `${packageName}@${packageVersion()}`, packageName, official: id };
  }
  const parts = packageSpec.exec(typed)?.groups;
  const file = resolvePath(typed, cwd, env);
  // A folder below the current one needs no ./ before it, unless its name could be that of a package.
  if (looksLikePath.test(typed) || (parts === undefined && existsSync(file)))
    return { ...pathSpec(file), official: undefined };
  if (parts === undefined)
    throw new UsageError(`"${typed}" is no id, no package name, and no path to a tarball or folder`);
  return { spec: typed, packageName: parts["name"], official: undefined };
}

function pathSpec(file: string): Pick<InstallSpec, "spec" | "packageName"> {
  if (!existsSync(file)) throw new MemoryError("PLUGIN", `${file} does not exist; name a tarball or a folder`);
  const manifest = path.join(file, "memslot.plugin.json");
  if (statSync(file).isDirectory() && !existsSync(manifest))
    throw new MemoryError("PLUGIN", `${file} is no memslot plugin: ${manifest} is missing`);
  return { spec: file, packageName: undefined };
}

/** The command as it could be typed into a terminal. */
export function shellLine(args: readonly string[]): string {
  const quoted = args.map((arg) =>
    /^[\w@%+=:,./^~\\-]+$/u.test(arg) ? arg : `"${arg.replaceAll(/(["$`])/gu, "\\$1")}"`,
  );
  return ["npm", ...quoted].join(" ");
}
