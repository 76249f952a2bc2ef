import { chmodSync, readFileSync, readdirSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import json5 from "json5";
import { describe, expect, test } from "vitest";
import { type MemoryError } from "@memslot/core";
import { listTrusted, trustConfig } from "@memslot/core/host";
import { tempFolder } from "@memslot/test-tools/files";
import { type ConfigEdit, editConfigFile, editConfigText } from "../src/config/edit.ts";
/** A file before and after an edit: `slot` sets the memory slot, `with` and `without` change the list `plugins.deny`. */
import data from "./data/config-edits.json" with { type: "json" };
/** The same for `slot`, of generated configurations: comments, quotes, escapes, commas and line ends by chance. */
import generated from "./data/config-edits-random.json" with { type: "json" };

const slot: ConfigEdit = { key: ["plugins", "slots", "memory"], value: "memory-mine" };

describe("editConfigText", () => {
  test.each(data.slot as [string, string][])("%j becomes %j", async (text, wanted) => {
    expect(await editConfigText(text, [slot])).toBe(wanted);
  });

  test.each(data.with as [string, string][])("puts an item into the list of %j", async (text, wanted) => {
    expect(await editConfigText(text, [{ key: ["plugins", "deny"], with: "x" }])).toBe(wanted);
  });

  test("puts no item into what is not a list", async () => {
    await expect(editConfigText("{ plugins: { deny: 1 } }", [{ key: ["plugins", "deny"], with: "x" }])).rejects.toThrow(
      "plugins.deny is not a list",
    );
  });

  test.each(data.without as [string, string][])("takes an item out of %j", async (text, wanted) => {
    expect(await editConfigText(text, [{ key: ["plugins", "deny"], without: "x" }])).toBe(wanted);
  });

  test("refuses what is not a group, and text that it cannot read", async () => {
    await expect(editConfigText("{ plugins: 1 }", [slot])).rejects.toThrow("plugins");
    await expect(editConfigText("[]", [slot])).rejects.toThrow("not a group");
    await expect(editConfigText("{ plugins: {", [slot])).rejects.toThrow("JSON5");
  });

  test("changes what it is to change and no other byte, whatever the file looks like", async () => {
    for (const [text = "", wanted] of generated) {
      expect(await editConfigText(text, [slot])).toBe(wanted);
      expect(await editConfigText(wanted ?? "", [slot])).toBe(wanted);
    }
  });
});

describe("editConfigFile", () => {
  test("makes a file that is not there, for its owner alone", async () => {
    const stateDir = tempFolder();
    const file = join(stateDir, "new/memslot.json5");
    await editConfigFile(file, [slot], { stateDir });
    expect(json5.parse(readFileSync(file, "utf8"))).toEqual({ plugins: { slots: { memory: "memory-mine" } } });
    if (process.platform !== "win32") expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(readdirSync(join(stateDir, "new"))).toEqual(["memslot.json5"]);
  });

  test("keeps mode, link, byte order mark and trust", async () => {
    const stateDir = tempFolder();
    const real = join(tempFolder(), "real.json5");
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
    const stateDir = tempFolder();
    const file = join(stateDir, "other.json5");
    writeFileSync(file, "{}");
    await trustConfig(file, { stateDir });
    writeFileSync(file, "{ a: 1 }");
    const before = await listTrusted({ stateDir });
    await editConfigFile(file, [slot], { stateDir });
    expect(await listTrusted({ stateDir })).toEqual(before);
  });

  test("leaves a file that it cannot change, and names it", async () => {
    const stateDir = tempFolder();
    const file = join(stateDir, "memslot.json5");
    writeFileSync(file, "{ plugins: [] }");
    await expect(editConfigFile(file, [slot], { stateDir })).rejects.toSatisfy(
      (error: MemoryError) => error.code === "CONFIG" && error.message.includes(file),
    );
    expect(readFileSync(file, "utf8")).toBe("{ plugins: [] }");
  });
});
