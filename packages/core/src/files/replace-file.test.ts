import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { replaceFile, replaceFileSync } from "./replace-file.ts";

function folder(): string {
  const made = mkdtempSync(join(tmpdir(), "memslot-replace-"));
  onTestFinished(() => rmSync(made, { recursive: true, force: true }));
  return made;
}

const ways = [
  ["replaceFile", replaceFile],
  ["replaceFileSync", replaceFileSync],
] as const;

test.each(ways)(
  "%s makes the folder and the file for their owner, and leaves nothing else there",
  async (_name, way) => {
    const file = join(folder(), "new/one.json");
    await way(file, "one");
    await way(file, "two");
    expect(readFileSync(file, "utf8")).toBe("two");
    expect(readdirSync(join(file, ".."))).toEqual(["one.json"]);
    if (process.platform === "win32") return;
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(statSync(join(file, "..")).mode & 0o777).toBe(0o700);
  },
);

test("replaceFile clears away old drafts of this file, and no others", async () => {
  const place = folder();
  const draftOf = (name: string, digit: string): string =>
    `${name}.${digit.repeat(8)}-0000-4000-8000-${digit.repeat(12)}.tmp`;
  const names = [draftOf("one", "1"), draftOf("one", "2"), draftOf("other", "3"), "one.mine.tmp"];
  for (const name of names) writeFileSync(join(place, name), "");
  const old = new Date(Date.now() - 3_600_000);
  for (const name of names) if (name !== names[1]) utimesSync(join(place, name), old, old);
  await replaceFile(join(place, "one"), "text");
  expect(readdirSync(place).toSorted()).toEqual(["one", ...names.slice(1)].toSorted());
});

test.each(ways)("%s leaves no draft where it fails", async (_name, way) => {
  const place = folder();
  mkdirSync(join(place, "one/inside"), { recursive: true });
  await expect(async () => await way(join(place, "one"), "text")).rejects.toThrow(/EISDIR|ENOTEMPTY|EPERM/);
  expect(readdirSync(place)).toEqual(["one"]);
  writeFileSync(join(place, "no folder"), "");
  // The first failure is told, not that of clearing up.
  await expect(async () => await way(join(place, "no folder/one"), "text")).rejects.toThrow(
    /(?:EEXIST|ENOTDIR).*mkdir/,
  );
});

test.skipIf(process.platform === "win32")("a mode holds whatever the umask takes away", async () => {
  const file = join(folder(), "one");
  const before = process.umask(0o077);
  onTestFinished(() => void process.umask(before));
  await replaceFile(file, "text", { mode: 0o664 });
  expect(statSync(file).mode & 0o777).toBe(0o664);
});

test.skipIf(process.platform === "win32" || process.getuid?.() === 0)(
  "a folder that cannot be listed can be written to",
  async () => {
    const place = folder();
    chmodSync(place, 0o300);
    onTestFinished(() => chmodSync(place, 0o700));
    await replaceFile(join(place, "one"), "text");
    expect(readFileSync(join(place, "one"), "utf8")).toBe("text");
  },
);
