import { existsSync, mkdirSync, readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { type PackedPackage, readPackedPackage } from "./packed-package.ts";
import { run } from "./run-command.ts";

export const root: string = path.resolve(import.meta.dirname, "../..");

/** The folder of each package that is published, relative to the root: every one that is not private. */
export const publishedPlaces: readonly string[] = ["packages", "extensions", "apps"]
  .flatMap((group) => readdirSync(path.join(root, group)).map((name) => `${group}/${name}`))
  .filter((place) => existsSync(path.join(root, place, "package.json")) && !manifestAt(place).private);

/** Every backend and provider that is kept here. One without a manifest of memslot is a plugin of another host. */
export const extensions: readonly { place: string; name: string }[] = publishedPlaces
  .filter((place) => place.startsWith("extensions/") && existsSync(path.join(root, place, "memslot.plugin.json")))
  .map((place) => ({ place, name: manifestAt(place).name }));

/** The package.json in the repository. */
export function manifestAt(place: string): {
  name: string;
  private?: boolean;
  exports: unknown;
  imports?: Readonly<Record<string, unknown>>;
  dependencies?: Readonly<Record<string, string>>;
} {
  return JSON.parse(readFileSync(path.join(root, place, "package.json"), "utf8")) as ReturnType<typeof manifestAt>;
}

/** Builds everything and packs what is published, as a release does. */
export async function packAll(target: string): Promise<ReadonlyMap<string, PackedPackage>> {
  mkdirSync(target, { recursive: true });
  await run("pnpm", ["run", "build"], { cwd: root });
  await run(process.execPath, ["scripts/prune-dist.mjs"], { cwd: root });
  const packed = new Map<string, PackedPackage>();
  for (const place of publishedPlaces) packed.set(place, await pack(path.join(root, place), target));
  return packed;
}

/** Packs one package folder. */
async function pack(folder: string, target: string): Promise<PackedPackage> {
  const { stdout } = await run("pnpm", ["--dir", folder, "pack", "--json", "--pack-destination", target], {
    cwd: root,
  });
  const { filename } = JSON.parse(stdout) as { filename: string };
  return readPackedPackage(path.resolve(target, filename));
}
