import { mkdir, readFile, readdir, writeFile } from "node:fs/promises";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { MemoryError, messageOf } from "@memslot/core";
import { offeredPlugins } from "@memslot/core/host";
import type { CommandContext, CommonOptions } from "../command-context.ts";
import { ExitCode, UsageError } from "../terminal/exit-code.ts";
import { packageFolder, packageVersion } from "../package-version.ts";
import { resolvePath } from "../open/find-notes-folder.ts";

export interface PluginsNewCommandOptions extends CommonOptions {
  dir?: string;
}

const templates = fileURLToPath(new URL("templates/memory-plugin/", packageFolder));
const files: readonly string[] = ["package.json", "memslot.plugin.json", "src/index.ts", "test/conformance.test.ts"];
/** A nested package.json confuses tools that read the package. */
const packageTemplate = "package.template.json";
/** The id of the template, itself a working plugin. */
const templateId = "memory-example";

/** `memslot plugins new`: creates a working memory plugin with tests. */
export async function pluginsNew(
  context: CommandContext,
  options: PluginsNewCommandOptions,
  packageName = "",
): Promise<number> {
  const { output, cwd, env } = context;
  const id = idOf(packageName);
  const folder = resolvePath(options.dir ?? id, cwd, env);
  await refuseFull(folder);
  for (const file of files) {
    const text = await readFile(path.join(templates, file.replace("package.json", packageTemplate)), "utf8");
    await write(path.join(folder, file), adapted(file, text, { id, packageName }));
  }
  if (options.json === true) {
    output.printJson({ id, packageName, folder, files });
    return ExitCode.ok;
  }
  const shown = path.relative(cwd, folder) || ".";
  output.print(`A memory plugin with the id "${id}" is in ${folder}:`);
  for (const file of files) output.print(`  ${file}`);
  output.print(`\nNext:
  cd ${shown}
  npm install
  npm test                    # the conformance checks of a memory plugin
  npm run build
  memslot plugins add .
  memslot plugins use ${id}`);
  return ExitCode.ok;
}

function idOf(packageName: string): string {
  if (!/^(?:@[a-z0-9][a-z0-9._-]*\/)?[a-z0-9][a-z0-9._-]*$/u.test(packageName) || packageName.length > 100) {
    const words = "lower-case letters, digits, dots and dashes";
    throw new UsageError(
      `"${packageName}" is not a valid package name: use ${words}, as in memory-mine or @me/memory-mine`,
    );
  }
  const id = packageName.split("/").at(-1) ?? packageName;
  const taken = [...offeredPlugins(import.meta.url).map((plugin) => plugin.id), "memory-core", "none", "auto"];
  if (taken.includes(id)) throw new UsageError(`the id "${id}" is taken; choose another name`);
  return id;
}

function adapted(file: string, text: string, { id, packageName }: { id: string; packageName: string }): string {
  if (file !== "package.json") return text.replaceAll(templateId, id);
  return text
    .replace(JSON.stringify(templateId), JSON.stringify(packageName))
    .replaceAll(/("@memslot\/[\w-]+": )"[^"]*"/gu, `$1"^${packageVersion()}"`);
}

async function refuseFull(folder: string): Promise<void> {
  const names = await readdir(folder).catch((error: unknown) => {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return [];
    throw new MemoryError(
      "WORKSPACE",
      `${folder} cannot be used: ${messageOf(error)}; choose another folder with --dir`,
    );
  });
  if (names.some((name) => name !== ".git"))
    throw new MemoryError("WORKSPACE", `${folder} is not empty; choose another folder with --dir`);
}

async function write(file: string, text: string): Promise<void> {
  try {
    await mkdir(path.dirname(file), { recursive: true });
    await writeFile(file, text, { flag: "wx" });
  } catch (error) {
    throw new MemoryError("WORKSPACE", `${file} could not be written: ${messageOf(error)}`, { cause: error });
  }
}
