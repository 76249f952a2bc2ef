import { spawnSync } from "node:child_process";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  statSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { stat } from "node:fs/promises";
import { hostname } from "node:os";
import { dirname, join } from "node:path";
import { setImmediate as nextTurn } from "node:timers/promises";
import { describe, expect, onTestFinished, test } from "vitest";
import { tempFolder } from "@memslot/test-tools/files";
import { type LockHolder, acquireLock } from "../src/files/process-lock.ts";
import { replaceFile, replaceFileSync } from "../src/files/replace-file.ts";

const busy = (holder: LockHolder | undefined): string => `held by ${holder?.pid ?? "nobody"}`;
const atOnce = { waitMs: 0, busy };
/** Longer than any test takes. */
const patient = { waitMs: 50_000, busy };

/** The number of a process that is gone. */
function goneProcess(): number {
  return spawnSync(process.execPath, ["--version"]).pid;
}

function leave(file: string, holder: Partial<LockHolder> | string, ageMs = 0): void {
  const whole = { host: hostname(), since: new Date().toISOString(), token: "theirs" };
  writeFileSync(file, typeof holder === "string" ? holder : JSON.stringify({ ...whole, ...holder }));
  const time = new Date(Date.now() - ageMs);
  utimesSync(file, time, time);
}

describe("a lock", () => {
  test("is held by one at a time, also when many find it abandoned, a little one after the other", async () => {
    const file = join(tempFolder(), "lock");
    const pid = goneProcess();
    let inside = 0;
    let most = 0;
    for (let round = 0; round < 30; round++) {
      leave(file, { pid });
      if (round % 3 === 0) leave(`${file}.takeover`, { pid });
      await Promise.all(
        Array.from({ length: 8 }, async (_, late) => {
          for (let turn = 0; turn < late * (round % 10); turn++) await nextTurn();
          const lock = await acquireLock(file, patient);
          most = Math.max(most, ++inside);
          // As long as taking a lock over takes.
          for (let step = 0; step < 20; step++) await stat(dirname(file));
          inside--;
          await lock.release();
        }),
      );
    }
    expect([most, inside]).toEqual([1, 0]);
    expect(readdirSync(dirname(file))).toEqual([]);
  });

  test("is not free while its process lives, and says whose it is", async () => {
    const file = join(tempFolder(), "lock");
    const lock = await acquireLock(file, atOnce);
    await expect(acquireLock(file, atOnce)).rejects.toMatchObject({ code: "BUSY", message: `held by ${process.pid}` });
    await lock.release();
    await lock.release();
    await (await acquireLock(file, atOnce)).release();
  });

  test("that another took over is not released by the one before", async () => {
    const file = join(tempFolder(), "lock");
    const lock = await acquireLock(file, atOnce);
    leave(file, { pid: process.pid, token: "another" });
    await lock.release();
    expect(existsSync(file)).toBe(true);
  });

  // An age below 0 is young however slow this machine is.
  test.each<[string, (pid: number) => Partial<LockHolder> | string, number, boolean]>([
    ["of a process that is gone", (pid) => ({ pid }), 0, true],
    ["of a process that had the number of this one", () => ({ pid: process.pid, processStart: "another:1" }), 0, true],
    ["of this process", () => ({ pid: process.pid }), 0, false],
    ["of the same number in another pid namespace", (pid) => ({ pid, scope: "another" }), -30_000, false],
    ["of another pid namespace, silent for minutes", (pid) => ({ pid, scope: "another" }), 120_000, true],
    ["of the first process of all", () => ({ pid: 1 }), 0, false],
    ["that is just being written", () => "", -30_000, false],
    ["that was never written", () => "", 10_000, true],
    ["that says nothing", () => "{}", 10_000, true],
    ["of another computer", (pid) => ({ pid, host: "elsewhere" }), -30_000, false],
    ["of another computer, silent for minutes", (pid) => ({ pid, host: "elsewhere" }), 120_000, true],
  ])("%s", async (_what, holder, ageMs, free) => {
    const file = join(tempFolder(), "lock");
    leave(file, holder(goneProcess()), ageMs);
    const before = readFileSync(file, "utf8");
    const taken = acquireLock(file, atOnce);
    if (free) await (await taken).release();
    else await expect(taken).rejects.toMatchObject({ code: "BUSY" });
    expect(existsSync(file) ? readFileSync(file, "utf8") : undefined).toBe(free ? undefined : before);
  });

  test("of a live process is kept by processes of another pid namespace with the same host name", async (task) => {
    const file = join(tempFolder(), "lock");
    const source = `
      const { acquireLock } = await import(process.argv[1]);
      await acquireLock(process.argv[2], { waitMs: 0, busy: () => "held" }).then(() => console.log("taken"), (error) => console.log(error.message));`;
    const lockModule = new URL("../src/files/process-lock.ts", import.meta.url).href;
    const node = [
      process.execPath,
      "--conditions=@memslot/source",
      "--input-type=module",
      "-e",
      source,
      lockModule,
      file,
    ];
    const lock = await acquireLock(file, atOnce);
    const { stdout, stderr, status } = spawnSync("unshare", ["-pf", ...node], { encoding: "utf8" });
    if (status !== 0) task.skip(`no pid namespace can be made here: ${stderr}`);
    expect(stdout).toBe("held\n");
    await lock.release();
    expect(spawnSync("unshare", ["-pf", ...node], { encoding: "utf8" }).stdout).toBe("taken\n");
    await expect(acquireLock(file, atOnce)).rejects.toMatchObject({ code: "BUSY" });
  });

  test("is not waited for any longer once the caller gives up", async () => {
    const file = join(tempFolder(), "lock");
    const lock = await acquireLock(file, atOnce);
    const controller = new AbortController();
    const waiting = acquireLock(file, { ...patient, signal: controller.signal });
    controller.abort();
    await expect(waiting).rejects.toMatchObject({ name: "AbortError" });
    await lock.release();
  });
});

const ways = [
  ["replaceFile", replaceFile],
  ["replaceFileSync", replaceFileSync],
] as const;

test.each(ways)(
  "%s makes the folder and the file for their owner, and leaves nothing else there",
  async (_name, way) => {
    const file = join(tempFolder(), "new/one.json");
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
  const place = tempFolder();
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
  const place = tempFolder();
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
  const file = join(tempFolder(), "one");
  const before = process.umask(0o077);
  onTestFinished(() => void process.umask(before));
  await replaceFile(file, "text", { mode: 0o664 });
  expect(statSync(file).mode & 0o777).toBe(0o664);
});

test.skipIf(process.platform === "win32" || process.getuid?.() === 0)(
  "a folder that cannot be listed can be written to",
  async () => {
    const place = tempFolder();
    chmodSync(place, 0o300);
    onTestFinished(() => chmodSync(place, 0o700));
    await replaceFile(join(place, "one"), "text");
    expect(readFileSync(join(place, "one"), "utf8")).toBe("text");
  },
);
