import { readFileSync } from "node:fs";
import { cp, mkdir, mkdtemp, rm, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { onTestFinished } from "vitest";

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
  const folder = await mkdtemp(path.join(tmpdir(), "memslot-lean-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  for (const part of ["src", "templates", "package.json"])
    await cp(path.join(app, part), path.join(folder, part), { recursive: true });
  for (const name of names) {
    const link = path.join(folder, "node_modules", name);
    await mkdir(path.dirname(link), { recursive: true });
    await symlink(path.join(app, "node_modules", name), link, "junction");
  }
  return path.join(folder, "src/cli.ts");
}
