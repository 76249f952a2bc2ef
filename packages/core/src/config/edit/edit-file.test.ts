import {
  chmodSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import json5 from "json5";
import { describe, expect, onTestFinished, test } from "vitest";
import type { MemoryError } from "../../contract/errors.ts";
import { listTrusted, trustConfig } from "../trust/trust.ts";
import { editConfigFile } from "./edit-file.ts";
import type { ConfigEdit } from "./edit-text.ts";

const slot: ConfigEdit = { key: ["plugins", "slots", "memory"], value: "memory-mine" };

describe("editConfigFile", () => {
  function folder(): string {
    const made = mkdtempSync(join(tmpdir(), "memslot-edit-"));
    onTestFinished(() => rmSync(made, { recursive: true, force: true }));
    return made;
  }

  test("makes a file that is not there, for its owner alone", async () => {
    const stateDir = folder();
    const file = join(stateDir, "new/memslot.json5");
    await editConfigFile(file, [slot], { stateDir });
    expect(json5.parse(readFileSync(file, "utf8"))).toEqual({ plugins: { slots: { memory: "memory-mine" } } });
    if (process.platform !== "win32") expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(readdirSync(join(stateDir, "new"))).toEqual(["memslot.json5"]);
  });

  test("keeps mode, link, byte order mark and trust", async () => {
    const stateDir = folder();
    const real = join(folder(), "real.json5");
    writeFileSync(real, "\u{feff}{ /* mine */ }");
    chmodSync(real, 0o640);
    const link = join(stateDir, "memslot.json5");
    symlinkSync(real, link);
    await trustConfig(real, { stateDir });
    const [before] = await listTrusted({ stateDir });
    await editConfigFile(link, [slot], { stateDir });
    expect(readFileSync(link, "utf8")).toBe('\u{feff}{ /* mine */ plugins: { slots: { memory: "memory-mine" } } }');
    expect(readFileSync(real, "utf8")).toBe(readFileSync(link, "utf8"));
    if (process.platform !== "win32") expect(statSync(real).mode & 0o777).toBe(0o640);
    const trusted = await listTrusted({ stateDir });
    expect(trusted).toHaveLength(1);
    expect(trusted[0]?.sha256).not.toBe(before?.sha256);
  });

  test("trusts nothing that was not trusted as it was", async () => {
    const stateDir = folder();
    const file = join(stateDir, "other.json5");
    writeFileSync(file, "{}");
    await trustConfig(file, { stateDir });
    writeFileSync(file, "{ a: 1 }");
    const before = await listTrusted({ stateDir });
    await editConfigFile(file, [slot], { stateDir });
    expect(await listTrusted({ stateDir })).toEqual(before);
  });

  test("leaves a file that it cannot change, and names it", async () => {
    const stateDir = folder();
    const file = join(stateDir, "memslot.json5");
    writeFileSync(file, "{ plugins: [] }");
    await expect(editConfigFile(file, [slot], { stateDir })).rejects.toSatisfy(
      (error: MemoryError) => error.code === "CONFIG" && error.message.includes(file),
    );
    expect(readFileSync(file, "utf8")).toBe("{ plugins: [] }");
  });
});
