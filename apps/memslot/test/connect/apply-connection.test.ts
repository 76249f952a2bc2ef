import { mkdir, readFile, readdir, symlink, writeFile } from "node:fs/promises";
import path from "node:path";
import { tempFolder } from "@memslot/test-tools/files";
import { beforeEach, describe, expect, test } from "vitest";
import { carryOut } from "../../src/connect/apply-connection.ts";
import type { FileChange } from "../../src/connect/plan-connection.ts";
import { type Receipts, openReceipts } from "../../src/connect/receipts.ts";
import { diffOf } from "../../src/connect/plan-connection.ts";
import { readTarget } from "../../src/connect/target-file.ts";

let folder = "";
let receipts: Receipts;

beforeEach(() => {
  folder = tempFolder();
  receipts = openReceipts(path.join(folder, "state"));
});

const about = { client: "cursor", scope: "user", at: "2026-05-01T08:00:00Z" } as const;
const receipt = { ...about, server: { command: "node", args: [], env: {} } };

async function planned(name: string, after: string): Promise<FileChange> {
  const file = await readTarget(path.join(folder, name));
  return { path: file.target, what: "server", file, base: file.text, after, earlier: undefined };
}

test("a file that another program has changed meanwhile stays as that one wrote it, and those before it are put back", async () => {
  await mkdir(path.join(folder, "deep"));
  await writeFile(path.join(folder, "one.json"), "one");
  await writeFile(path.join(folder, "two.json"), "two");
  const changes = [
    await planned("one.json", "ONE"),
    await planned("new.json", "NEW"),
    await planned("two.json", "TWO"),
  ];
  await writeFile(path.join(folder, "two.json"), "changed by its owner");
  await expect(carryOut(changes, receipt, receipts)).rejects.toMatchObject({ code: "BUSY" });
  expect(await readFile(path.join(folder, "one.json"), "utf8")).toBe("one");
  expect(await readFile(path.join(folder, "two.json"), "utf8")).toBe("changed by its owner");
  await expect(readFile(path.join(folder, "new.json"))).rejects.toMatchObject({ code: "ENOENT" });
});

test("the backup and the receipt are there before the file is touched", async () => {
  await writeFile(path.join(folder, "one.json"), "one");
  const change = await planned("one.json", "ONE");
  const seen: unknown[] = [];
  const watched: Receipts = {
    ...receipts,
    async save(each) {
      seen.push(
        await receipts.backup(each.files[0]?.backup ?? ""),
        await readFile(path.join(folder, "one.json"), "utf8"),
      );
      await receipts.save(each);
    },
  };
  await carryOut([change], receipt, watched);
  expect(seen).toEqual(["one", "one"]);
  expect(await readFile(path.join(folder, "one.json"), "utf8")).toBe("ONE");
});

describe("a file that the system does not let be written", () => {
  async function failing(): Promise<FileChange[]> {
    await writeFile(path.join(folder, "one.json"), "one");
    // What a link leads to that leads nowhere cannot be made, not even by root.
    await symlink("nowhere/at/all", path.join(folder, "gone"));
    return [
      await planned("one.json", "ONE"),
      await planned("deep/new.json", "NEW"),
      await planned("gone/two.json", "TWO"),
    ];
  }
  const told = { code: "UNAVAILABLE", message: expect.stringMatching(/two\.json cannot be written: /u) as string };

  test("leaves neither a receipt, nor a backup, nor a folder of the first time", async () => {
    await expect(carryOut(await failing(), receipt, receipts)).rejects.toMatchObject(told);
    expect(await readFile(path.join(folder, "one.json"), "utf8")).toBe("one");
    expect(await readdir(path.join(folder, "state", "connections"))).toEqual([]);
    expect((await readdir(folder)).toSorted()).toEqual(["gone", "one.json", "state"]);
  });

  test("leaves the receipt of an earlier time as it was", async () => {
    await writeFile(path.join(folder, "zero.json"), "zero");
    await carryOut([await planned("zero.json", "ZERO")], receipt, receipts);
    const before = receipts.get(about);
    const names = await readdir(path.join(folder, "state", "connections"));
    await expect(carryOut(await failing(), { ...receipt, at: "2026-06-01T08:00:00Z" }, receipts)).rejects.toMatchObject(
      told,
    );
    expect(receipts.get(about)).toEqual(before);
    expect(await readdir(path.join(folder, "state", "connections"))).toEqual(names);
  });
});

test("a relative link in a folder that is a link leads on from where that folder lies", async () => {
  const home = folder;
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
