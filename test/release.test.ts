import { cpSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { manifestAt, publishedPlaces, root } from "./support/repository.ts";
import { run } from "./support/run-command.ts";

const changesets = readdirSync(path.join(root, ".changeset")).filter(
  (name) => name.endsWith(".md") && name !== "README.md",
);

/** Tried on a copy of the manifests: the command writes into them. */
describe("the next release", () => {
  let copy = "";

  beforeEach(async () => {
    copy = mkdtempSync(path.join(os.tmpdir(), "memslot-versions-"));
    for (const name of ["package.json", "pnpm-workspace.yaml", ".changeset"])
      cpSync(path.join(root, name), path.join(copy, name), { recursive: true });
    for (const place of [...publishedPlaces, "apps/demo-agent", "test", "bench"]) {
      mkdirSync(path.join(copy, place), { recursive: true });
      cpSync(path.join(root, place, "package.json"), path.join(copy, place, "package.json"));
    }
    const person = ["-c", "user.name=nobody", "-c", "user.email=nobody@example.invalid", "-c", "commit.gpgsign=false"];
    await run("git", ["init", "--quiet", "--initial-branch=main"], { cwd: copy });
    await run("git", ["add", "."], { cwd: copy });
    await run("git", [...person, "commit", "--quiet", "--message", "before"], { cwd: copy });
  });

  afterEach(() => rmSync(copy, { recursive: true, force: true }));

  test("raises every published package to one version, and leaves the private ones", async () => {
    const before = versionAt(root, "apps/memslot");
    expect(new Set(publishedPlaces.map((place) => versionAt(root, place)))).toEqual(new Set([before]));
    const program = path.join(root, "node_modules/@changesets/cli/bin.js");
    await run(process.execPath, [program, "version"], { cwd: copy });
    const after = new Set(publishedPlaces.map((place) => versionAt(copy, place)));
    expect(after.size).toBe(1);
    expect([...after][0] === before).toBe(changesets.length === 0);
    // Before 1.0 nothing is a major release by accident, as the change of a peer would be.
    expect([...after][0]?.split(".")[0]).toBe(before.split(".")[0]);
    for (const place of ["apps/demo-agent", "test"]) expect(versionAt(copy, place)).toBe(versionAt(root, place));
    if (changesets.length > 0)
      expect(readFileSync(path.join(copy, "apps/memslot/CHANGELOG.md"), "utf8")).toContain(`## ${[...after][0]}`);
  });

  test("is described in the names of packages that are published", () => {
    const names = new Set(publishedPlaces.map((place) => manifestAt(place).name));
    for (const name of changesets) {
      const text = readFileSync(path.join(root, ".changeset", name), "utf8");
      const named = [...text.matchAll(/^"([^"]+)": (?:patch|minor|major)$/gm)].map(([, each]) => each);
      expect(named.length, name).toBeGreaterThan(0);
      expect(named.filter((each) => each === undefined || !names.has(each))).toEqual([]);
    }
  });
});

function versionAt(folder: string, place: string): string {
  return (JSON.parse(readFileSync(path.join(folder, place, "package.json"), "utf8")) as { version: string }).version;
}
