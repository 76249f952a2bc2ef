import { mkdir, mkdtemp, readFile, readdir, rm, writeFile } from "node:fs/promises";
import { stripTypeScriptTypes } from "node:module";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import type { PublishedPackage } from "@memslot/fakes/npm-registry";
import { onTestFinished } from "vitest";
import { packed } from "../npm.ts";
import data from "../data/published-packages.json" with { type: "json" };

const extension = fileURLToPath(new URL("../../../../extensions/embeddings-local", import.meta.url));

/** The plugin embeddings-local as it would be published, but for its dependency, which the test has beside it. */
export async function publishedPlugin(): Promise<PublishedPackage> {
  const manifest = JSON.parse(await readFile(path.join(extension, "package.json"), "utf8"));
  const { name, version, type, publishConfig } = manifest;
  const files: Record<string, string> = {
    "memslot.plugin.json": await readFile(path.join(extension, "memslot.plugin.json"), "utf8"),
  };
  for (const file of await readdir(path.join(extension, "src"), { recursive: true })) {
    if (!file.endsWith(".ts") || /\.test\.ts$|(?:^|[/\\])test[/\\]/u.test(file)) continue;
    const code = stripTypeScriptTypes(await readFile(path.join(extension, "src", file), "utf8"));
    files[`dist/${file.replace(/ts$/u, "js")}`] = code.replaceAll(/(from "\.[^"]*)\.ts"/gu, '$1.js"');
  }
  const { imports, exports } = publishConfig;
  return publish({ name, version, type, imports, exports }, files);
}

/** What takes the place of llama.cpp: counts the letters of a text. Its vectors can be made too short. */
const llama = data.llama.join("\n");

/** node-llama-cpp with its builds for all machines, which run no model. */
export async function publishedLlama(): Promise<PublishedPackage[]> {
  const version = "3.22.1";
  const code = { "index.js": llama };
  const builds = ["linux-x64", "linux-arm64", "mac-arm64-metal", "mac-x64", "win-x64", "win-arm64"];
  return await Promise.all(
    ["node-llama-cpp", ...builds.map((build) => `@node-llama-cpp/${build}`)].map((name) =>
      publish({ name, version, type: "module", main: "index.js" }, code),
    ),
  );
}

async function publish(
  manifest: PublishedPackage["manifest"],
  files: Readonly<Record<string, string>>,
): Promise<PublishedPackage> {
  const parent = await mkdtemp(path.join(tmpdir(), "memslot-package-"));
  onTestFinished(() => rm(parent, { recursive: true, force: true }));
  const folder = path.join(parent, "package");
  for (const [name, text] of Object.entries({ ...files, "package.json": JSON.stringify(manifest) })) {
    await mkdir(path.dirname(path.join(folder, name)), { recursive: true });
    await writeFile(path.join(folder, name), text);
  }
  return { manifest, tarball: await readFile(await packed(folder)) };
}
