import { mkdirSync, readFileSync, readdirSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setImmediate } from "node:timers/promises";
import { beforeEach, describe, expect, test } from "vitest";
import { type TrustRecord, listTrusted, revokeTrust, trustConfig } from "@memslot/core/host";
import { type ConfigHome, createConfigHome, failure, withKey } from "./support/config-home.ts";
import data from "./data/refused.json" with { type: "json" };

let computer: ConfigHome;
let file: string;

beforeEach(() => {
  computer = createConfigHome();
  file = computer.write(join(computer.project, "memslot.json5"), withKey("plugins.load.paths", ["./plugin"]));
});

const recordsDir = (): string => join(computer.stateDir, "trusted");

/** Records are in the order of their times, in milliseconds. */
async function trustLater(path: string): Promise<TrustRecord> {
  const before = Date.now();
  while (Date.now() === before) await setImmediate();
  return trustConfig(path, computer);
}

async function isTrustedNow(): Promise<boolean> {
  return (await computer.load()).trusted;
}

describe("trusting a configuration file", () => {
  test("holds for the path and the content, until either changes", async () => {
    expect(await isTrustedNow()).toBe(false);
    const record = await trustConfig(file, computer);
    expect(record.file).toBe(file);
    expect(record.sha256).toMatch(/^[0-9a-f]{64}$/);
    expect(new Date(record.trustedAt).toISOString()).toBe(record.trustedAt);

    const config = await computer.load();
    expect([config.trusted, config.notices]).toEqual([true, []]);
    expect(config.plugins.load.paths).toEqual([join(computer.project, "plugin")]);
    expect(config.plugins.resolveFrom).toBe(computer.project);

    const text = readFileSync(file, "utf8");
    writeFileSync(file, `${text}\n`);
    expect(await isTrustedNow()).toBe(false);
    writeFileSync(file, text);
    expect(await isTrustedNow()).toBe(true);

    const copy = join(computer.home, "copy");
    computer.write(join(copy, "memslot.json5"), text);
    expect((await computer.load({ cwd: copy })).trusted).toBe(false);
  });

  test("holds for every link that leads to the file", async () => {
    await trustConfig(file, computer);
    const link = join(computer.home, "link");
    symlinkSync(computer.project, link);
    expect((await computer.load({ cwd: link })).trusted).toBe(true);
    await trustConfig(join(link, "memslot.json5"), computer);
    expect(await listTrusted(computer)).toHaveLength(1);
  });

  test("is listed, renewed and taken back", async () => {
    const other = computer.write(join(computer.home, "other", "memslot.json5"), "{}");
    expect(await listTrusted(computer)).toEqual([]);
    const first = await trustConfig(file, computer);
    const second = await trustLater(other);
    expect(await listTrusted(computer)).toEqual([first, second]);

    writeFileSync(file, "{ /* new */ }");
    const renewed = await trustLater(file);
    expect(await listTrusted(computer)).toEqual([second, renewed]);

    expect(await revokeTrust(file, computer)).toBe(true);
    expect(await revokeTrust(file, computer)).toBe(false);
    expect(await isTrustedNow()).toBe(false);
    rmSync(other);
    expect(await revokeTrust(other, computer)).toBe(true);
    expect(await listTrusted(computer)).toEqual([]);
  });

  test("is kept in a file that only its owner can read, with nothing left beside it", async () => {
    await trustConfig(file, computer);
    const [name = "", ...others] = readdirSync(recordsDir());
    expect([name, others]).toEqual([expect.stringMatching(/^[0-9a-f]{64}\.json$/), []]);
    expect(statSync(join(recordsDir(), name)).mode & 0o777).toBe(0o600);
    expect(statSync(recordsDir()).mode & 0o777).toBe(0o700);
    expect(statSync(computer.stateDir).mode & 0o777).toBe(0o700);
  });

  test.each(data.records)(
    "a file is not trusted while its record %s, and trusting writes it anew",
    async (_name, damaged) => {
      const other = computer.write(join(computer.home, "other", "memslot.json5"), "{}");
      await trustConfig(file, computer);
      const [name = ""] = readdirSync(recordsDir());
      const sound = await trustConfig(other, computer);
      computer.write(join(recordsDir(), name), damaged);
      expect(await isTrustedNow()).toBe(false);
      expect(await listTrusted(computer)).toEqual([sound]);
      expect(await revokeTrust(file, computer)).toBe(false);
      await trustConfig(file, computer);
      expect(await isTrustedNow()).toBe(true);
    },
  );

  test("a record that stands under another file's name trusts neither", async () => {
    const other = computer.write(join(computer.home, "other", "memslot.json5"), readFileSync(file, "utf8"));
    await trustConfig(other, computer);
    const [theirs = ""] = readdirSync(recordsDir());
    await trustConfig(file, computer);
    const mine = readdirSync(recordsDir()).find((name) => name !== theirs) ?? "";
    writeFileSync(join(recordsDir(), mine), readFileSync(join(recordsDir(), theirs)));
    expect(await isTrustedNow()).toBe(false);
  });

  test("a file that cannot be read, or a record that cannot be written, is an error", async () => {
    const missing = join(computer.project, "missing.json5");
    expect(await failure("CONFIG", () => trustConfig(missing, computer))).toMatch(`${missing} does not exist`);
    expect(await failure("CONFIG", () => trustConfig(computer.project, computer))).toMatch("is a folder");
    const stateDir = join(computer.home, "state");
    await trustConfig(file, { stateDir });
    const [name = ""] = readdirSync(join(stateDir, "trusted"));
    rmSync(join(stateDir, "trusted", name));
    mkdirSync(join(stateDir, "trusted", name));
    expect(await failure("CONFIG", () => trustConfig(file, { stateDir }))).toMatch("cannot be written");
    expect(readdirSync(join(stateDir, "trusted"))).toEqual([name]);
    expect(await failure("CONFIG", () => revokeTrust(file, { stateDir }))).toMatch("cannot be written");
  });
});

describe("which files have to be trusted", () => {
  test("one that is named by option or variable does not", async () => {
    expect((await computer.load({ configPath: file })).trusted).toBe(true);
    const env = { ...computer.env, MEMSLOT_CONFIG: "memslot.json5" };
    const config = await computer.load({ env });
    expect([config.trusted, config.notices]).toEqual([true, []]);
    expect(config.plugins.load.paths).toEqual([join(computer.project, "plugin")]);
  });

  test("the one of the state folder does not, also for someone who stands in that folder", async () => {
    const own = computer.write(join(computer.stateDir, "memslot.json5"), withKey("plugins.load.paths", ["./mine"]));
    const config = await computer.load({ cwd: computer.stateDir });
    expect([config.file, config.trusted]).toEqual([own, true]);
    expect(config.plugins.load.paths).toEqual([join(computer.stateDir, "mine")]);
  });

  test("a link to a trusted file keeps the folder of that file", async () => {
    const mine = computer.write(
      join(computer.home, "mine", "memslot.json5"),
      withKey("plugins.load.paths", ["./plugin"]),
    );
    await trustConfig(mine, computer);
    rmSync(file);
    symlinkSync(mine, file);
    const config = await computer.load();
    expect([config.file, config.trusted]).toEqual([mine, true]);
    expect(config.plugins.load.paths).toEqual([join(computer.home, "mine", "plugin")]);
    expect(config.plugins.resolveFrom).toBe(join(computer.home, "mine"));
  });

  test("a link to the user's own file is the user's own file", async () => {
    const own = computer.write(join(computer.stateDir, "memslot.json5"), withKey("plugins.load.paths", ["./mine"]));
    rmSync(file);
    symlinkSync(own, file);
    expect((await computer.load()).plugins.load.paths).toEqual([join(computer.stateDir, "mine")]);
  });
});
