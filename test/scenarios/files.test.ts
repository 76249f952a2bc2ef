import {
  chmodSync,
  chownSync,
  linkSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  truncateSync,
  utimesSync,
} from "node:fs";
import path from "node:path";
import type { LeftOutFile, MemoryFileList } from "@memslot/core";
import type { Memory } from "memslot";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { ask, type House, useHouse } from "../support/temp-workspace.ts";
import given from "../data/files.json" with { type: "json" };

/** Notes of each kind, files that are excluded, and how both are listed. */
const data = JSON.parse(readFileSync(path.join(import.meta.dirname, "../data/listed-files.json"), "utf8")) as {
  notes: Record<string, string>;
  listed: object[];
  around: Record<string, string>;
  excluded: Record<string, string>;
  /** What is made, how, where, of what, and the path that it is named by. */
  notSearched: [string, string, string, string, string][];
  globs: [string, number][];
};

function reasons(list: MemoryFileList | undefined): Record<string, LeftOutFile["reason"]> {
  return Object.fromEntries((list?.leftOut ?? []).map(({ path: file, reason }) => [file, reason]));
}

describe("the list of files", () => {
  test("says of each note what is known of it", async () => {
    const house = useHouse(data.notes);
    const memory = await house.open();
    await memory.sync();
    const list = await memory.listFiles();
    expect(list).toMatchObject({ fileCount: 4, leftOut: [], leftOutCount: 0, more: false });
    expect(list?.files).toMatchObject(data.listed);
    expect(Date.parse(list?.files[0]?.modified ?? "")).toBeGreaterThan(0);
    house.write({ "memory/trip.md": "# Another title\n" });
    await memory.sync();
    expect((await memory.listFiles())?.files[3]).toMatchObject({ title: "Another title", passages: 1 });
  });

  test("is that of the index alone without a scan, the last changed first; a search that need not be fresh is, too", async () => {
    const house = useHouse({ "memory/a.md": "# Old\n", "memory/b.md": "# New\n", "elsewhere.md": "x\n" });
    utimesSync(house.at("memory/a.md"), new Date("2026-01-01"), new Date("2026-01-01"));
    utimesSync(house.at("memory/b.md"), new Date("2026-01-02"), new Date("2026-01-02"));
    const memory = await house.open({ memorySearch: { sync: { watch: false } } });
    await memory.sync();
    house.write({ "memory/c.md": "# Zebra\n" });
    const list = await memory.listFiles({ scan: false, newest: true, limit: 1 });
    expect(list).toMatchObject({ files: [{ path: "memory/b.md", title: "New" }], fileCount: 2, leftOut: [] });
    expect((await memory.listFiles())?.files.map(({ title }) => title)).toEqual(["Old", "New"]);
    const asItIs = await memory.ask("zebra", { fresh: false });
    expect([asItIs.results, memory.status().files]).toEqual([[], 2]);
    expect(await memory.search("zebra")).toMatchObject([{ path: "memory/c.md" }]);
  });

  test("names what is not searched beside an agent's layout, and what could not be taken", async () => {
    const photo = Buffer.from(Array.from({ length: 5000 }, (_, index) => (index * 7919) % 256));
    const house = useHouse({ ...data.around, "memory/photo.md": photo });
    truncateSync(house.at("memory/huge.md"), 300 * 1024 * 1024);
    if (process.platform !== "win32") symlinkSync("/etc", house.at("etc"));
    const memory = await house.open();
    await memory.sync();
    const list = await memory.listFiles();
    expect(list?.files.map(({ path: file }) => file)).toEqual(["memory/a.md"]);
    const links = process.platform === "win32" ? {} : { etc: "link" };
    expect(reasons(list)).toEqual({ ...data.excluded, ...links });
    expect(list?.leftOut.find(({ path: file }) => file === "memory/huge.md")?.detail).toMatch(/16 MiB/u);
    const short = await memory.listFiles({ limit: 1 });
    expect([short?.files.length, short?.leftOut.length]).toEqual([1, 1]);
    expect(short?.leftOutCount).toBe(list?.leftOutCount);
    await expect(memory.listFiles({ limit: 0 })).rejects.toThrow(/limit/u);
  });

  test("names what a folder of notes leaves out, and what waits for a sync", async () => {
    const house = useHouse();
    house.remove("memory");
    house.write({ "a.md": "a\n", "sub/b.md": "b\n", "drafts/c.md": "c\n", ".gitignore": "drafts/\n" });
    const memory = await house.open({
      memorySearch: { extraPaths: [house.at("drafts/kept")], sync: { onSearch: false } },
    });
    await memory.sync();
    house.write({ "new.md": "n\n", "drafts/kept/d.md": "d\n" });
    const list = await memory.listFiles();
    expect(list?.files.map(({ path: file }) => file)).toEqual(["a.md", "sub/b.md"]);
    expect(reasons(list)).toEqual(given.folderStates);
    await memory.sync();
    expect((await memory.listFiles())?.fileCount).toBe(4);
  });
});

describe("what is known of one note", () => {
  test("are its passages, its links and the links to it", async () => {
    const house = useHouse({
      "MEMORY.md": `# Facts\n\nSee [[pump#Noise]] and [[nowhere]].\n\n## More\n\n${"a line of words\n".repeat(300)}`,
      "memory/pump.md": "---\naliases: [Wärmepumpe]\n---\n# Pump\n\n[facts](../MEMORY.md)\n",
      "memory/other.md": "The [[Wärmepumpe]] is loud, `[[pump]]`.\n",
    });
    const memory = await house.open();
    await memory.sync();
    const facts = await memory.describeFile({ relPath: "MEMORY.md" });
    expect(facts?.links).toEqual([
      { line: 3, kind: "wiki", target: "pump#Noise", path: "memory/pump.md", heading: "Noise" },
      { line: 3, kind: "wiki", target: "nowhere", path: undefined, heading: undefined },
    ]);
    expect(facts?.passages.length).toBeGreaterThan(1);
    expect(facts?.passages[0]?.startLine).toBe(1);
    expect(facts?.passages.at(-1)?.endLine).toBe(306);
    expect(await memory.describeFile({ relPath: "./memory/pump.md" })).toMatchObject(given.pump);
    expect(await memory.describeFile({ relPath: "memory/none.md" })).toBeUndefined();
    await expect(memory.describeFile({ relPath: "a\0.md" })).rejects.toThrow(/NUL/u);
  });

  test("has the backlinks that another process has indexed since", async () => {
    const house = useHouse({ "MEMORY.md": "# Garden\n", "memory/a.md": "x\n" });
    const memory = await house.open({ memorySearch: { sync: { watch: false } } });
    await memory.sync();
    expect(await memory.describeFile({ relPath: "MEMORY.md" })).toMatchObject({ backlinks: [] });
    house.write({ "memory/a.md": "See [[MEMORY]].\n" });
    const other = house.start();
    await other.open();
    expect(await other.sync()).toMatchObject({ result: { changed: 1 } });
    const backlinks = [{ path: "memory/a.md", line: 1 }];
    expect(await memory.describeFile({ relPath: "MEMORY.md" })).toMatchObject({ backlinks });
  });
});

/** Makes a file that is excluded: one over 16 MiB, bytes, or a link. */
function makeExcluded({ at, write }: House, kind: string, place: string, content: string): void {
  if (kind === "huge") truncateSync(at(place), 17 * 2 ** 20);
  else if (kind === "link") symlinkSync(at(content), at(place));
  else write({ [place]: Buffer.from(content, "hex") });
}

describe.skipIf(process.platform === "win32")("a note that is not searched", () => {
  test.each(data.notSearched)(
    "%s is named by an empty answer, counted by another one, and accepted by name",
    async (_, kind, place, content, named) => {
      const house = useHouse(given.manyFolders);
      makeExcluded(house, kind, place, content);
      const memory = await house.open();
      const { results, report } = await ask(memory, "pangolin");
      expect(results).toEqual([]);
      expect(report).toMatchObject({ state: "degraded", conditions: [{ state: "degraded", count: 1 }] });
      expect(report.reason).toMatch(new RegExp(`^1 note or folder is not searched: ${named} \\(.+\\)`, "u"));
      const excluded = { count: 1, notes: [{ path: named }], byConfiguration: 0 };
      expect((await ask(memory, "heron")).report).toMatchObject({ state: "ok", conditions: [], excluded });
      expect(memory.status()).toMatchObject({ excluded });
      expect(await memory.survey()).toMatchObject({ excluded });
      const accepting = await house.open({ memorySearch: { exclude: [named] } });
      expect((await ask(accepting, "pangolin")).report).toMatchObject({
        state: "ok",
        reason: expect.stringMatching(/no memory file contains.*; 1 excluded by configuration/u),
        excluded: { count: 0, byConfiguration: 1 },
      });
      expect(await accepting.survey()).toMatchObject({ excluded: { count: 0, byConfiguration: 1 } });
      await expect(accepting.readFile({ relPath: named === "memory/out" ? "memory/out/p.md" : named })).rejects.toThrow(
        /memorySearch\.exclude names it/u,
      );
    },
  );

  test("is none where what it says is searched in another place, or where it says nothing", async () => {
    const house = useHouse({ "memory/a.md": "heron\n", "pictures/p.png": "p" });
    symlinkSync(house.at("memory/a.md"), house.at("memory/latest.md"));
    symlinkSync(house.at("pictures"), house.at("memory/pictures"));
    symlinkSync("ana@host.4711", house.at("memory/.#a.md"));
    linkSync(house.at("memory/a.md"), house.at("memory/b.md"));
    expect((await ask(await house.open(), "pangolin")).report).toMatchObject({ state: "ok", conditions: [] });
  });

  test.each(data.globs)("memorySearch.exclude %s: %i", async (glob, count) => {
    const house = useHouse({ "memory/a.md": "heron\n", "memory/oz.md": "heron\n", "memory/old/b.md": "heron\n" });
    house.write({ "memory/old/deep.md": "heron\n", "memory/p.txt": "heron\n" });
    const memory = await house.open({ memorySearch: { exclude: [glob] } });
    await memory.sync();
    expect(memory.status().excluded).toEqual({ count: 0, notes: [], byConfiguration: count });
  });
});

const isRoot = process.geteuid?.() === 0;
const otherUser = 65_534;
/** Modes say nothing on Windows. */
const isSkipped = process.platform === "win32";

/** Root can read everything: gives the files to another user, and becomes that user. */
function dropRights(house: House): void {
  if (!isRoot) return;
  const entries = readdirSync(house.folder, { recursive: true, withFileTypes: true });
  for (const file of [house.folder, ...entries.map(({ parentPath, name }) => path.join(parentPath, name))])
    chownSync(file, otherUser, otherUser);
  process.seteuid?.(otherUser);
}

function regainRights(): void {
  if (isRoot) process.seteuid?.(0);
}

describe.skipIf(isSkipped)("a note that is there and cannot be read", () => {
  let house: House;
  let memory: Memory;

  beforeEach(async () => {
    house = useHouse();
    house.write(given.heronAndPuffin);
    house.letSettle();
    dropRights(house);
    memory = await house.open({
      memorySearch: { extraPaths: [house.at("handbook")], sync: { watch: false } },
    });
    await memory.sync();
  });

  afterEach(() => {
    for (const place of ["memory", "memory/deep", "memory/a.md", "handbook/open.md"]) chmodSync(house.at(place), 0o700);
    regainRights();
  });

  const close = (place: string): void => chmodSync(house.at(place), 0);

  test.each(given.unreadable)(
    "%s: the answer says so, its old text is not in it, and it comes back by itself",
    async (_, closed, named, bird) => {
      close(closed);
      for (const query of [bird, "is on the cliff or in the garden"]) {
        const { results, report } = await ask(memory, query);
        expect(report.state).toBe("degraded");
        expect(report.reason).toContain(`${named} (`);
        expect(report.reason).not.toMatch(/no memory file contains|nothing in memory/);
        expect(report.conditions).toContainEqual(expect.objectContaining({ state: "degraded", count: 1 }));
        expect(results.filter(({ path: place }) => place === closed || place.startsWith(`${closed}/`))).toEqual([]);
      }
      expect((await ask(memory, "heron")).results).toHaveLength(1);
      chmodSync(house.at(closed), 0o700);
      // On a slow machine a search ends before the scan.
      const again = async (): Promise<unknown> => await ask(memory, bird);
      const whole = { results: [{}], report: { state: "ok", conditions: [] } };
      await expect.poll(again, { timeout: 30_000 }).toMatchObject(whole);
    },
  );

  test("is named by a look for what no search finds, also in a process that never synced", async () => {
    close("memory/a.md");
    close("memory/deep");
    const survey = await memory.survey();
    expect(survey?.excluded.notes.map(({ path: place }) => place).toSorted()).toEqual(["memory/a.md", "memory/deep"]);
  });

  test("a folder that is open again is not indexed again", async () => {
    close("memory");
    expect(await memory.sync()).toMatchObject({ removed: 0, failed: [{ path: "memory" }] });
    chmodSync(house.at("memory"), 0o700);
    expect(await memory.sync()).toMatchObject({ added: 0, changed: 0, removed: 0, unchanged: 4, failed: [] });
  });

  test("is not told to a group, unless the group may read it", async () => {
    close("memory/a.md");
    const sessionKey = "agent:main:telegram:group:42";
    const group = await ask(memory, "walrus puffin", { sessionKey });
    expect(group.report).toMatchObject({ state: "ok", conditions: [] });
    close("handbook/open.md");
    const { results, report } = await ask(memory, "walrus", { sessionKey });
    expect(results).toEqual([]);
    expect(report).toMatchObject({ state: "degraded", conditions: [{ count: 1 }] });
    expect(report.reason).toContain("handbook/open.md");
    expect(report.reason).not.toContain("memory/a.md");
  });
});
