import { execFileSync } from "node:child_process";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { describe, expect, test } from "vitest";
import type { ImportWatch } from "./support/import-watch.ts";
import { manifestAt, publishedPlaces, root } from "./support/pack-all.ts";

/** Small, and needed as soon as the package that has it. */
const light = "p-limit";
/** Brought by what packages bring, or joined into a part that is loaded late. */
const alsoHeavy = ["apache-arrow", "zod", "hono", "json5", "commander"];
/** All else that packages bring takes long to load or is native code: nobody pays for it by importing a package. */
const heavy = [
  ...new Set(publishedPlaces.flatMap((place) => Object.keys(manifestAt(place).dependencies ?? {}))),
  ...alsoHeavy,
].filter((name) => !/^@?memslot\b/.test(name) && name !== light);

describe("importing a package", () => {
  test.each(publishedPlaces.map((place) => [manifestAt(place).name, place]))(
    "%s loads nothing heavy and does no I/O",
    (_name, place) => {
      // By its place: these tests need not depend on every package.
      const { modules, calls, active, native } = watchImport(
        pathToFileURL(path.join(root, place, "src/index.ts")).href,
      );
      expect(modules.some((url) => url.endsWith("/src/index.ts"))).toBe(true);
      expect(modules.filter((url) => heavy.some((each) => url.includes(`/node_modules/${each}/`)))).toEqual([]);
      expect(calls).toEqual([]);
      expect(active).toEqual([]);
      expect(native.filter((file) => file.endsWith(".node") || /sqlite|vec0|lancedb|llama/.test(file))).toEqual([]);
    },
  );

  test.each([
    ["reads a file", 'import { readFileSync } from "node:fs"; readFileSync(process.execPath)', "fs.readFileSync"],
    ["looks for a file", 'import fs from "node:fs"; fs.existsSync("/")', "fs.existsSync"],
    ["lists a folder", 'import { readdir } from "node:fs/promises"; await readdir("/")', "fs.promises.readdir"],
    [
      "starts a process",
      'import { execFileSync } from "node:child_process"; execFileSync(process.execPath, ["-v"])',
      "childProcess.execFileSync",
    ],
    [
      "starts a worker",
      'import { Worker } from "node:worker_threads"; new Worker("", { eval: true })',
      "workers.Worker",
    ],
    ["connects", 'import net from "node:net"; net.connect(1).on("error", () => {})', "net.connect"],
    ["asks a server", 'fetch("http://127.0.0.1:1").catch(() => {})', "global.fetch"],
  ])("is noticed when the package %s", (_name, text, call) => {
    const { calls } = watchImport(`data:text/javascript,${encodeURIComponent(text)}`);
    expect(calls.join("\n")).toContain(call);
  });

  test("is noticed when the package loads native code or leaves a timer", () => {
    const library = path.join(
      import.meta.dirname,
      "../extensions/memory-core/node_modules/better-sqlite3/package.json",
    );
    const native = `import { createRequire } from "node:module"; const need = createRequire(${JSON.stringify(library)}); new (need("better-sqlite3"))(":memory:");`;
    const watched = watchImport(`data:text/javascript,${encodeURIComponent(`${native} setInterval(() => {}, 1e6)`)}`);
    expect(watched.native.filter((file) => file.endsWith(".node"))).toHaveLength(1);
    expect(watched.modules.some((url) => url.includes("/node_modules/better-sqlite3/"))).toBe(true);
    expect(watched.active).toContain("Timeout");
  });
});

function watchImport(specifier: string): ImportWatch {
  const script = path.join(import.meta.dirname, "support/import-watch.ts");
  const output = execFileSync(process.execPath, ["--conditions=@memslot/source", script, specifier], {
    encoding: "utf8",
    cwd: import.meta.dirname,
    timeout: 60_000,
  });
  return JSON.parse(output) as ImportWatch;
}
