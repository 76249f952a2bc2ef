import { existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { MemoryError } from "@memslot/core";
import { describe, expect, test } from "vitest";
import { parse } from "yaml";
import { errorOf, type MemoryLab, memoryLab, qmdStatus } from "./test/memory-lab.ts";
import { eventually } from "@memslot/test-tools/wait";

const onSearch = { sync: { onSearch: true } };
const lynx = (place: string): string => `The lynx was seen near the ${place}.\n`;

function collectionsIn({ folder }: Pick<MemoryLab, "folder">): Record<string, { path: string; pattern: string }> {
  return (parse(readFileSync(join(folder, "index.yml"), "utf8")) as { collections: never }).collections;
}

describe("what is saved is found by the next search", () => {
  test("without qmd being told of it, which happens later", async () => {
    const lab = memoryLab();
    lab.write("memory/a.md", lynx("mill"));
    const { memory, ask } = await lab.open({ memorySearch: onSearch, qmd: { update: { debounceMs: 3_600_000 } } });
    await memory.sync();
    lab.write("memory/b.md", lynx("pond"));
    const { paths, report } = await ask("lynx");
    expect([paths.toSorted(), report.state]).toEqual([["memory/a.md", "memory/b.md"], "ok"]);
    expect(lab.fake.starts("update")).toHaveLength(1);
    expect(qmdStatus({ memory })["waiting"]).toBe(1);
  });

  test("a changed note answers with its new words only, a deleted one not at all", async () => {
    const lab = memoryLab();
    lab.write("memory/a.md", lynx("mill"));
    lab.write("memory/b.md", lynx("pond"));
    const { memory, ask } = await lab.open({ memorySearch: onSearch, qmd: { update: { debounceMs: 3_600_000 } } });
    await memory.sync();
    lab.write("memory/a.md", "The heron was seen near the mill.\n");
    lab.remove("memory/b.md");
    expect((await ask("heron")).paths).toEqual(["memory/a.md"]);
    expect((await ask("lynx")).paths).toEqual([]);
    expect((await ask("pond")).paths).toEqual([]);
  });

  test("what changes is told to qmd after the quiet, once for all of it", async () => {
    const lab = memoryLab();
    lab.write("memory/a.md", lynx("mill"));
    const { memory, ask } = await lab.open({ memorySearch: onSearch, qmd: { update: { debounceMs: 300 } } });
    await memory.sync();
    for (const name of ["b", "c", "d"]) {
      lab.write(`memory/${name}.md`, lynx(name));
      await ask("lynx");
    }
    await eventually(() => qmdStatus({ memory })["waiting"] === 0);
    expect(lab.fake.starts("update").length).toBeLessThanOrEqual(3);
    expect((await ask("lynx")).paths).toHaveLength(4);
  });

  test("more changes than can be searched without qmd: the answer says that it is stale, and qmd is told at once", async () => {
    const lab = memoryLab();
    lab.write("memory/a.md", lynx("mill"));
    const { memory, ask } = await lab.open({ memorySearch: onSearch, qmd: { update: { debounceMs: 3_600_000 } } });
    await memory.sync();
    for (let index = 0; index < 210; index++) lab.write(`memory/many/${index}.md`, lynx(`place ${index}`));
    lab.fake.set({ update: { slowMs: 1500 } });
    const { report } = await ask("lynx");
    expect(report.state).toBe("stale");
    expect(report.reason).toMatch(/10 notes were not searched/);
    await eventually(async () => (await ask("place 0")).report.state === "ok");
    expect((await ask("place 0", { maxResults: 200, minScore: 0 })).paths).toContain("memory/many/0.md");
  });

  test("a first search over many notes waits for the first index", async () => {
    const lab = memoryLab();
    for (let index = 0; index < 210; index++) lab.write(`memory/many/${index}.md`, lynx(`place ${index}`));
    const { ask } = await lab.open({ memorySearch: onSearch });
    const { report, paths } = await ask("lynx");
    expect(report.state).toBe("ok");
    expect(paths).toHaveLength(6);
    expect(lab.fake.starts("update")).toHaveLength(1);
  });
});

describe("notes that qmd does not index are searched all the same, and the status names them", () => {
  test("below folders and with names that it passes over", async () => {
    const lab = memoryLab();
    for (const path of [
      "memory/build/a.md",
      "memory/.hidden/b.md",
      "memory/vendor/c.md",
      "memory/UP.MD",
      "memory/d.md",
    ])
      lab.write(path, lynx(path));
    const { memory, ask } = await lab.open();
    await memory.sync();
    const { paths, report } = await ask("lynx", { maxResults: 20 });
    expect([paths.length, report.state]).toEqual([5, "ok"]);
    const status = memory.status();
    expect(qmdStatus({ memory })).toMatchObject({ waiting: 0, passedOver: 4 });
    expect(status.custom?.notices?.join("\n")).toMatch(/does not index 4 notes/);
    // They are no reason to tell qmd again and again.
    await memory.sync();
    expect(lab.fake.starts("update")).toHaveLength(1);
  });

  test("links are followed by neither", async () => {
    const lab = memoryLab();
    lab.write("memory/a.md", lynx("mill"));
    lab.write("elsewhere/b.md", lynx("pond"));
    symlinkSync(join(lab.workspaceDir, "elsewhere"), join(lab.workspaceDir, "memory/link"), "dir");
    const { memory, ask } = await lab.open();
    await memory.sync();
    expect((await ask("lynx")).paths).toEqual(["memory/a.md"]);
  });
});

describe("a sync", () => {
  test("that finds nothing new starts nothing", async () => {
    const lab = memoryLab();
    lab.write("memory/a.md", lynx("mill"));
    const { memory } = await lab.open();
    await memory.sync();
    const before = lab.fake.starts().length;
    expect(await memory.sync()).toMatchObject({ added: 0, unchanged: 1 });
    expect(lab.fake.starts()).toHaveLength(before);
  });

  test("drops what is left of deleted notes", async () => {
    const lab = memoryLab();
    lab.write("memory/a.md", lynx("mill"));
    lab.write("memory/b.md", lynx("pond"));
    const { memory } = await lab.open();
    await memory.sync();
    lab.remove("memory/b.md");
    expect(await memory.sync()).toMatchObject({ removed: 1 });
    expect(lab.fake.starts("cleanup")).toHaveLength(1);
    expect(readFileSync(join(lab.folder, "index.sqlite"), "utf8")).not.toContain("pond");
  });

  test("with force makes the index anew", async () => {
    const lab = memoryLab();
    lab.write("memory/a.md", lynx("mill"));
    const { memory, ask } = await lab.open();
    await memory.sync();
    writeFileSync(join(lab.folder, "index.sqlite"), "no database");
    expect(await memory.sync({ force: true })).toMatchObject({ changed: 1, unchanged: 0 });
    expect((await ask("lynx")).paths).toEqual(["memory/a.md"]);
  });

  test("fails as UNAVAILABLE where qmd does, and the next one catches up", async () => {
    const lab = memoryLab();
    lab.write("memory/a.md", lynx("mill"));
    const { memory, ask } = await lab.open();
    lab.fake.set({ update: { diskFull: true } });
    const error = await errorOf(memory.sync());
    expect(MemoryError.is(error, "UNAVAILABLE")).toBe(true);
    expect(error.message).toMatch(/no_space/);
    expect(memory.status().lastSyncError).toMatch(/disk is full/);
    // A qmd that cannot make an index is none that can be asked.
    expect(MemoryError.is(await errorOf(ask("lynx")), "UNAVAILABLE")).toBe(true);
    lab.fake.set({});
    await memory.sync();
    expect(memory.status().lastSyncError).toBeUndefined();
    expect((await ask("lynx")).paths).toEqual(["memory/a.md"]);
  });

  test("with force keeps the vectors of an index that this process has not asked about yet", async () => {
    const lab = memoryLab();
    lab.write("memory/a.md", lynx("mill"));
    const first = await lab.open();
    await first.memory.sync();
    await first.memory.close();
    const file = join(lab.folder, "index.sqlite");
    const index = JSON.parse(readFileSync(file, "utf8")) as { documents: { vector: boolean }[] };
    for (const document of index.documents) document.vector = true;
    writeFileSync(file, JSON.stringify(index));
    const { memory, ask } = await lab.open();
    await memory.sync({ force: true });
    expect(qmdStatus({ memory })).toMatchObject({ documents: 1, needsEmbedding: 0 });
    expect((await ask("lynx")).paths).toEqual(["memory/a.md"]);
  });

  test("tries again where the index is locked", async () => {
    const lab = memoryLab();
    lab.write("memory/a.md", lynx("mill"));
    const { memory } = await lab.open();
    lab.fake.set({ update: { busy: 2 } });
    expect(await memory.sync()).toMatchObject({ added: 1 });
    expect(lab.fake.starts("update")).toHaveLength(3);
  });

  test("tells qmd its collections anew where it says that it has none", async () => {
    const lab = memoryLab();
    lab.write("memory/a.md", lynx("mill"));
    const { memory } = await lab.open();
    lab.fake.set({ update: { desync: true } });
    expect((await errorOf(memory.sync())).message).toMatch(/unknown_collection/);
    expect(lab.fake.starts("update")).toHaveLength(2);
  });

  test("of an update that had to be killed makes the index anew", async () => {
    const lab = memoryLab();
    lab.write("memory/a.md", lynx("mill"));
    const { memory, ask } = await lab.open({
      limits: { updateBaseMs: 400, updatePerFileMs: 0, updateGraceMs: 100, killMs: 100 },
    });
    lab.fake.set({ update: { hang: true, ignoreTerm: true } });
    expect((await errorOf(memory.sync())).message).toMatch(/timeout/);
    lab.fake.set({});
    const again = await lab.open();
    await again.memory.sync();
    expect((await ask("lynx")).paths).toEqual(["memory/a.md"]);
    expect(existsSync(join(lab.folder, "update.unfinished"))).toBe(false);
  });

  test("has a new folder read as soon as it is there", async () => {
    const lab = memoryLab();
    lab.write("MEMORY.md", lynx("mill"));
    const { memory, ask } = await lab.open();
    await memory.sync();
    expect(Object.values(collectionsIn(lab))).toHaveLength(1);
    lab.write("memory/a.md", lynx("pond"));
    await memory.sync();
    expect(Object.values(collectionsIn(lab)).map(({ path }) => path)).toEqual([
      lab.workspaceDir,
      join(lab.workspaceDir, "memory"),
    ]);
    expect((await ask("lynx")).paths.toSorted()).toEqual(["MEMORY.md", "memory/a.md"]);
    expect(qmdStatus({ memory })["waiting"]).toBe(0);
  });
});

describe("two memories on one state folder", () => {
  test("share the index, and each sees what the other has indexed", async () => {
    const lab = memoryLab();
    lab.write("memory/a.md", lynx("mill"));
    const [one, two] = [await lab.open(), await lab.open()];
    await Promise.all([one.memory.sync(), two.memory.sync()]);
    lab.write("memory/b.md", lynx("pond"));
    await one.memory.sync();
    expect(await two.memory.sync()).toMatchObject({ unchanged: 2 });
    for (const { ask } of [one, two])
      expect((await ask("lynx")).paths.toSorted()).toEqual(["memory/a.md", "memory/b.md"]);
  });
});

test("the environment of qmd is on a list: keys and settings of the host stay out", async () => {
  const lab = memoryLab();
  lab.write("memory/a.md", lynx("mill"));
  const { memory } = await lab.open({
    environment: {
      OPENAI_API_KEY: "sk-secret",
      QMD_EMBED_MODEL: "hf:x/y.gguf",
      NODE_OPTIONS: "--no-warnings",
      INDEX_PATH: "/x",
    },
  });
  await memory.sync();
  const starts = lab.fake.starts();
  expect(starts.length).toBeGreaterThan(0);
  for (const { env, cwd, argv } of starts) {
    expect(Object.keys(env)).not.toContain("OPENAI_API_KEY");
    expect(Object.keys(env)).not.toContain("QMD_EMBED_MODEL");
    expect(env["NODE_OPTIONS"]).toBeUndefined();
    expect([env["INDEX_PATH"], env["QMD_CONFIG_DIR"], cwd]).toEqual([
      join(lab.folder, "index.sqlite"),
      lab.folder,
      lab.folder,
    ]);
    expect(env["CI"]).toBe("1");
    expect(argv.join(" ")).toContain("--index index");
  }
});

test("check and compact say what they found and leave the answers as they were", async () => {
  const lab = memoryLab();
  for (const name of ["a", "b", "c"]) lab.write(`memory/${name}.md`, lynx(`${name}place`));
  const { memory, ask } = await lab.open();
  await memory.sync();
  expect((await memory.check())?.findings.map(({ name, ok }) => [name, ok])).toEqual([
    ["qmd", true],
    ["documents", true],
    ["sample by words", true],
  ]);
  const index = JSON.parse(readFileSync(join(lab.folder, "index.sqlite"), "utf8")) as { documents: unknown[] };
  writeFileSync(join(lab.folder, "index.sqlite"), JSON.stringify({ documents: index.documents.slice(1) }));
  const broken = await memory.check();
  expect([broken?.ok, broken?.findings.find(({ ok }) => !ok)?.message]).toEqual([
    false,
    "qmd holds 2 notes, 3 were read into it",
  ]);
  const mended = await memory.check({ fix: true });
  expect(mended?.ok).toBe(true);
  expect(mended?.findings.filter(({ fixed }) => fixed !== undefined)).not.toEqual([]);
  expect(await memory.compact()).toMatchObject({ beforeBytes: expect.any(Number) as number });
  expect((await ask("lynx")).paths).toHaveLength(3);
});

test("a large file that is no memory is not given to qmd either", async () => {
  const lab = memoryLab();
  lab.write("memory/a.md", lynx("mill"));
  lab.write("memory/too large.md", "x".repeat(17 * 1024 * 1024));
  const { memory, ask } = await lab.open();
  await memory.sync();
  expect((await ask("lynx")).paths).toEqual(["memory/a.md"]);
  expect(readFileSync(join(lab.folder, "index.sqlite"), "utf8").length).toBeLessThan(100_000);
});

test("the state is one folder of its own for each agent and workspace", () => {
  const lab = memoryLab();
  mkdirSync(lab.folder, { recursive: true });
  expect(readdirSync(join(lab.stateDir, "qmd"))[0]).toMatch(/^main-[0-9a-f]{8}$/);
});
