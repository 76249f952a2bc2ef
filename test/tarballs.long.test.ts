import { mkdtempSync, rmSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { manifestAt, publishedPlaces } from "./support/repository.ts";
import {
  isJoined,
  missingImports,
  orphans,
  packAll,
  type PackedPackage,
  publint,
  strayFiles,
  undeclaredImports,
  unjoined,
  withoutSources,
  wrongTypes,
} from "./support/packing.ts";
import tables from "./data/packed.json" with { type: "json" };

// The first test waits for the build of all packages.
vi.setConfig({ testTimeout: 300_000, hookTimeout: 600_000 });

let folder = "";
let packed: ReadonlyMap<string, PackedPackage> = new Map();

beforeAll(async () => {
  folder = mkdtempSync(path.join(os.tmpdir(), "memslot-tarballs-"));
  packed = await packAll(folder);
});

afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe.each(publishedPlaces)("the tarball of %s", (place) => {
  const read = (): PackedPackage => {
    const found = packed.get(place);
    if (!found) throw new Error(`${place} was not packed`);
    return found;
  };

  test("holds what was built, a README and a licence, and nothing else", () => {
    expect(strayFiles(read())).toEqual([]);
    expect(orphans(place, read())).toEqual([]);
    expect(missingImports(read())).toEqual([]);
    expect(unjoined(read())).toEqual([]);
    expect([...read().files.keys()]).toEqual(expect.arrayContaining(["LICENSE", "README.md", "dist/index.js"]));
  });

  test("says what it is and runs on, and names no source", () => {
    const { manifest } = read();
    const repository = manifestAt(place);
    expect(manifest).toMatchObject(tables.manifest);
    // The same places as in the repository, which runs from the sources.
    expect(manifest.exports).toEqual(withoutSources(repository.exports));
    expect(manifest.imports).toEqual(withoutSources(repository.imports));
    expect(JSON.stringify(manifest)).not.toMatch(/workspace:|catalog:|\.\/src\//);
  });

  test("names every package that its code and its types import", () => {
    expect(undeclaredImports(read())).toEqual([]);
  });

  test("passes publint", async () => {
    expect(await publint(read())).toBe("");
  });

  test("passes are-the-types-wrong", async () => {
    expect(await wrongTypes(read())).toBe("");
  });
});

test("parts of the packages are joined, and a text for OpenCode's runtime stays as it is", () => {
  expect([...packed.values()].filter(isJoined).length).toBeGreaterThan(8);
  const code = [...(packed.get("packages/indexing")?.files ?? [])].map(([, text]) => text).join("\n");
  expect(code).toContain('import { exec } from "node:child_process";\n\nconst hook');
});
