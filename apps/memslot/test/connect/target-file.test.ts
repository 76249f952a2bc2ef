import { mkdir, mkdtemp, realpath, rm, symlink, writeFile } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { diffOf } from "../../src/connect/show-change.ts";
import { readTarget } from "../../src/connect/target-file.ts";

async function folder(): Promise<string> {
  const made = await realpath(await mkdtemp(path.join(os.tmpdir(), "memslot-target-")));
  onTestFinished(() => rm(made, { recursive: true, force: true }));
  return made;
}

test("a relative link in a folder that is a link leads on from where that folder lies", async () => {
  const home = await folder();
  await mkdir(path.join(home, "dotfiles", "deep", "client"), { recursive: true });
  await writeFile(path.join(home, "dotfiles", "deep", "real.json"), "{}");
  await symlink("dotfiles/deep/client", path.join(home, ".client"));
  await symlink("../real.json", path.join(home, "dotfiles", "deep", "client", "settings.json"));
  await symlink("../later.json", path.join(home, "dotfiles", "deep", "client", "other.json"));
  expect(await readTarget(path.join(home, ".client", "settings.json"))).toMatchObject({
    target: path.join(home, "dotfiles", "deep", "real.json"),
    text: "{}",
  });
  expect(await readTarget(path.join(home, ".client", "other.json"))).toMatchObject({
    target: path.join(home, "dotfiles", "deep", "later.json"),
    text: undefined,
  });
});

test("a secret that goes over the end of what is shown of a long line is left out too", () => {
  const secret = "ghp_16C7e42F292c6912E7710c838347Ae178B4a";
  for (const before of [366, 370, 374, 378]) {
    const text = `{"a":"${"x ".repeat(before / 2)}","b":"${secret}"}`;
    const shown = diffOf({ file: { target: "", text: "{}", mode: 0o600 }, after: text }).join("\n");
    expect(shown).not.toContain(secret.slice(0, 8));
  }
});
