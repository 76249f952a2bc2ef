import { appendFileSync, mkdirSync, readFileSync, truncateSync, utimesSync, writeFileSync } from "node:fs";
import path from "node:path";
import { afterwards } from "@memslot/test-tools/files";
import type { Memory } from "memslot";
import { describe, expect, test } from "vitest";
import { ask, indexFile, useHouse } from "../support/temp-workspace.ts";
import { contentOf } from "../support/sqlite-index-content.ts";
import { sessionsFolder } from "../support/generated-notes.ts";
import { makeReadOnly } from "../support/read-only.ts";

const data = JSON.parse(readFileSync(path.join(import.meta.dirname, "../data/bad-input.json"), "utf8")) as Record<
  "fileNames" | "brokenLines",
  string[]
>;
const onWindows = process.platform === "win32";
/** Why the status says that a file was passed over. */
function reasonsFor(memory: Memory, file: string): (string | undefined)[] {
  return (memory.status().roots ?? []).filter(({ path }) => path === file).map(({ reason }) => reason);
}

const named = (name: string): { path: string } => ({ path: name });

describe("a note", () => {
  test("of 300 MB is skipped with a reason, is not read, and keeps no other from being indexed", async () => {
    const house = useHouse({ "memory/huge.md": "puffin\n", "memory/small.md": "The puffin is small.\n" });
    truncateSync(house.at("memory/huge.md"), 300 * 1024 * 1024);
    const memory = await house.open();
    const before = process.memoryUsage.rss();
    expect(await memory.sync()).toMatchObject({ added: 1, failed: [] });
    expect(reasonsFor(memory, "memory/huge.md")).toEqual([expect.stringMatching(/300\.0 MiB.*16 MiB/u)]);
    expect(process.memoryUsage.rss() - before).toBeLessThan(150 * 1024 * 1024);
    expect((await ask(memory, "puffin")).paths).toEqual(["memory/small.md"]);
    expect(memory.status().sourceCounts?.[0]?.issues?.join()).toContain("memory/huge.md");
  });

  test("that is written without end while it is read is in the index as it is when the writing ends", async () => {
    const house = useHouse();
    const file = house.at("memory/log.md");
    house.write({ "memory/log.md": "# Log\n\n", "memory/other.md": "The kitten sleeps.\n" });
    const memory = await house.open();
    let lines = 0;
    const writer = setInterval(() => appendFileSync(file, `- entry${++lines} of the log\n`), 1);
    afterwards(() => clearInterval(writer));
    for (let round = 0; round < 20; round++) {
      expect(await memory.sync({ force: round % 5 === 0 })).toMatchObject({ failed: [] });
      expect((await ask(memory, "kitten")).results[0]).toMatchObject(named("memory/other.md"));
    }
    clearInterval(writer);
    expect((await ask(memory, `entry${lines}`)).results[0]?.snippet).toContain(`entry${lines} of the log`);
    await memory.close();
    const text = contentOf(indexFile(house))
      .chunks.filter((chunk) => chunk.path === "memory/log.md")
      .map((chunk) => chunk.text)
      .join("\n");
    for (let line = 1; line <= lines; line++) expect(text).toContain(`entry${line} of the log`);
  });
});

describe("a file name", () => {
  const names = data.fileNames.filter((name) => !onWindows || !/["\\|?\n\t]/u.test(name));

  test("of any characters is indexed, found, read, renamed and forgotten", async () => {
    const words = names.map((_, index) => `puffin${index}x`);
    const house = useHouse(
      Object.fromEntries(names.map((name, index) => [`memory/${name}`, `The ${words[index]} is small.\n`])),
    );
    const memory = await house.open();
    expect(await memory.sync()).toMatchObject({ added: names.length, failed: [] });
    for (const [index, name] of names.entries()) {
      const relPath = `memory/${name}`;
      const word = words[index] ?? "";
      expect((await ask(memory, word)).results).toMatchObject([{ path: relPath, startLine: 1 }]);
      expect(await memory.readFile({ relPath })).toMatchObject({ status: "ok", text: `The ${word} is small.` });
      house.rename(relPath, "memory/renamed.md");
      expect((await ask(memory, word)).paths).toEqual(["memory/renamed.md"]);
      house.rename("memory/renamed.md", relPath);
      house.remove(relPath);
      expect((await ask(memory, word)).paths).toEqual([]);
    }
    expect(await memory.check()).toMatchObject({ ok: true });
  });
});

test("a transcript with broken lines gives what the others hold, with the lines of the file", async () => {
  const house = useHouse();
  const said = (content: string): string => JSON.stringify({ type: "message", message: { role: "user", content } });
  const lines = [said("The first puffin."), ...data.brokenLines, said("The second puffin.")];
  writeFileSync(
    path.join(sessionsFolder(house), "one.jsonl"),
    `${lines.join("\n")}\n${said("not finished").slice(0, 20)}`,
  );
  const memory = await house.open({ memorySearch: { sources: ["memory", "sessions"] } });
  expect(await memory.sync({ reason: "cli" })).toMatchObject({ added: 1, failed: [] });
  const { results, report } = await ask(memory, "second puffin");
  expect(report.state).toBe("ok");
  expect(results[0]).toMatchObject({ path: "sessions/one.jsonl", source: "sessions", endLine: lines.length });
  expect(results[0]?.snippet).toContain("The second puffin.");
  expect(results[0]?.snippet).not.toContain("broken");
});

describe("a clock that jumps back", () => {
  test("and notes of the future are no reason to miss a change, or to index again and again", async () => {
    const house = useHouse({ "memory/a.md": "The puffin is small.\n", "memory/b.md": "The kitten sleeps.\n" });
    const [future, past] = [Date.now() / 1000 + 86_400, 1000];
    utimesSync(house.at("memory/a.md"), future, future);
    const memory = await house.open();
    expect(await memory.sync()).toMatchObject({ added: 2 });
    // Saved after the clock was set back: older than what the index knows, and of the same size.
    house.write({ "memory/a.md": "The walrus is huge.\n".padEnd("The puffin is small.\n".length) });
    utimesSync(house.at("memory/a.md"), past, past);
    expect((await ask(memory, "walrus")).results[0]).toMatchObject(named("memory/a.md"));
    expect((await ask(memory, "puffin")).results).toEqual([]);
    expect(await memory.sync()).toMatchObject({ added: 0, changed: 0, removed: 0 });
    expect(await memory.sync()).toMatchObject({ added: 0, changed: 0, removed: 0 });
  });
});

describe.skipIf(onWindows)("a folder that cannot be written (permissions of POSIX)", () => {
  test("the workspace: all works, and nothing is tried to be written there", async (context) => {
    const house = useHouse({ "MEMORY.md": "The puffin is small.\n", "memory/a.md": "The kitten sleeps.\n" });
    const undo = makeReadOnly(house.notes);
    if (typeof undo === "string") return context.skip(undo);
    afterwards(undo);
    expect(() => house.write({ "memory/b.md": "" })).toThrow(/EROFS|EACCES/u);
    const memory = await house.open();
    expect(await memory.sync()).toMatchObject({ added: 2, failed: [] });
    const { results, report } = await ask(memory, "puffin");
    expect(results[0]).toMatchObject(named("MEMORY.md"));
    expect(report.state).toBe("ok");
    expect(await memory.check()).toMatchObject({ ok: true });
    expect(house.notices).toEqual([]);
    await memory.close();
  });

  test("the state folder: a search answers from an index in memory, and one line says so", async (context) => {
    const house = useHouse({ "MEMORY.md": "The puffin is small.\n" });
    mkdirSync(house.stateDir);
    const undo = makeReadOnly(house.stateDir);
    if (typeof undo === "string") return context.skip(undo);
    afterwards(undo);
    const memory = await house.open();
    const { results, report } = await ask(memory, "puffin");
    expect(results[0]).toMatchObject(named("MEMORY.md"));
    expect(report.state).toBe("ok");
    expect(house.notices).toEqual([expect.stringMatching(/cannot be used .*kept in memory/u)]);
    expect(house.notices[0]).toContain(house.indexFolder);
    expect(memory.status().custom?.notices).toEqual(house.notices);
    house.notices.length = 0;
    await memory.close();
  });

  test("an index that was there and cannot be written any more is not lost", async (context) => {
    const house = useHouse({ "MEMORY.md": "The puffin is small.\n" });
    const first = await house.open();
    await first.sync();
    await first.close();
    const content = contentOf(indexFile(house));
    house.write({ "memory/a.md": "The kitten sleeps.\n" });
    const undo = makeReadOnly(house.stateDir);
    if (typeof undo === "string") return context.skip(undo);
    afterwards(undo);
    const memory = await house.open();
    expect((await ask(memory, "kitten")).results[0]).toMatchObject(named("memory/a.md"));
    expect((await ask(memory, "puffin")).results[0]).toMatchObject(named("MEMORY.md"));
    expect(house.notices).toHaveLength(1);
    await memory.close();
    expect(contentOf(indexFile(house))).toEqual(content);
  });
});
