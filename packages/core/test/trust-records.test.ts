import { mkdirSync, readFileSync, readdirSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { listTrusted, revokeTrust, trustConfig } from "../src/index.ts";
import { type ConfigHome, createConfigHome, failure, withKey } from "./config-home.ts";

let computer: ConfigHome;
let file: string;

beforeEach(() => {
  computer = createConfigHome();
  file = computer.write(join(computer.project, "memslot.json5"), withKey("plugins.load.paths", ["./plugin"]));
});

afterEach(() => computer.remove());

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
    const second = await trustConfig(other, computer);
    expect(await listTrusted(computer)).toEqual([first, second]);

    writeFileSync(file, "{ /* new */ }");
    const renewed = await trustConfig(file, computer);
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
    expect(readdirSync(computer.stateDir)).toEqual(["trusted.json"]);
    expect(statSync(join(computer.stateDir, "trusted.json")).mode & 0o777).toBe(0o600);
    expect(statSync(computer.stateDir).mode & 0o777).toBe(0o700);
  });

  test.each([
    ["is cut off", '{"version": 1, "files": [{"file": "/x"'],
    ["is empty", ""],
    ["holds something else", '{"files": {"a": 1}}'],
    ["holds a list", "[1, 2]"],
    [
      "holds records with parts missing",
      '{"files": [{"file": "/x"}, 5, null, {"file": 1, "sha256": 2, "trustedAt": 3}]}',
    ],
  ])("nothing is trusted while the record %s, and trusting writes it anew", async (_name, damaged) => {
    await trustConfig(file, computer);
    computer.write(join(computer.stateDir, "trusted.json"), damaged);
    expect(await isTrustedNow()).toBe(false);
    expect(await listTrusted(computer)).toEqual([]);
    await trustConfig(file, computer);
    expect(await isTrustedNow()).toBe(true);
  });

  test("a file that cannot be read, or a record that cannot be written, is an error", async () => {
    const missing = join(computer.project, "missing.json5");
    expect(await failure("CONFIG", () => trustConfig(missing, computer))).toMatch(`${missing} does not exist`);
    expect(await failure("CONFIG", () => trustConfig(computer.project, computer))).toMatch("is a folder");
    const stateDir = join(computer.home, "state");
    mkdirSync(join(stateDir, "trusted.json"), { recursive: true });
    expect(await failure("CONFIG", () => trustConfig(file, { stateDir }))).toMatch("cannot be written");
    expect(readdirSync(stateDir)).toEqual(["trusted.json"]);
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
