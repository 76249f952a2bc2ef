import { existsSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { MemoryError } from "@memslot/core";
import { tempFolder } from "@memslot/test-tools/files";
import { eventually } from "@memslot/test-tools/wait";
import { describe, expect, test } from "vitest";
import { parse } from "yaml";
import {
  errorOf,
  type LabOptions,
  type MemoryLab,
  memoryLab,
  openIndexed,
  type OpenedMemory,
  qmdStatus,
  writeSession,
} from "./test/memory-lab.ts";
import { models } from "./update/qmd-index.ts";
import data from "./test/updates.json" with { type: "json" };

const onSearch = { sync: { onSearch: true } };
const lynx = (place: string): string => `The lynx was seen near the ${place}.\n`;

function collectionsIn({ folder }: Pick<MemoryLab, "folder">): Record<string, { path: string; pattern: string }> {
  return (parse(readFileSync(join(folder, "index.yml"), "utf8")) as { collections: never }).collections;
}

describe("what is saved is found by the next search", () => {
  test("before qmd is updated", async () => {
    const { memory, ask, ...lab } = await openIndexed(
      { "memory/a.md": lynx("mill") },
      { memorySearch: onSearch, qmd: { update: { debounceMs: 3_600_000 } } },
    );
    lab.write("memory/b.md", lynx("pond"));
    const { paths, report } = await ask("lynx");
    expect([paths.toSorted(), report.state]).toEqual([["memory/a.md", "memory/b.md"], "ok"]);
    expect(lab.fake.starts("update")).toHaveLength(1);
    expect(qmdStatus({ memory })["waiting"]).toBe(1);
  });

  test("changes update qmd after the debounce, once for all of them", async () => {
    const { memory, ask, ...lab } = await openIndexed(
      { "memory/a.md": lynx("mill") },
      { memorySearch: onSearch, qmd: { update: { debounceMs: 300 } } },
    );
    for (const name of ["b", "c", "d"]) {
      lab.write(`memory/${name}.md`, lynx(name));
      await ask("lynx");
    }
    await eventually(() => qmdStatus({ memory })["waiting"] === 0);
    expect(lab.fake.starts("update").length).toBeLessThanOrEqual(3);
    expect((await ask("lynx")).paths).toHaveLength(4);
  });

  test("more changes than can be searched without qmd: the answer is stale, and qmd is updated at once", async () => {
    const { ask, ...lab } = await openIndexed(
      { "memory/a.md": lynx("mill") },
      { memorySearch: onSearch, qmd: { update: { debounceMs: 3_600_000 } } },
    );
    for (let index = 0; index < 210; index++) lab.write(`memory/many/${index}.md`, lynx(`place ${index}`));
    lab.fake.set({ update: { slowMs: 1500 } });
    const stale = /"state":"stale","reason":"[^"]*10 notes were not searched/u;
    await eventually(async () => stale.test(JSON.stringify((await ask("lynx")).report)));
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

describe("notes that qmd does not index are searched, and the status names them", () => {
  test("in folders and with names that it excludes", async () => {
    const lab = memoryLab();
    for (const path of data.unwantedPlaces) lab.write(path, lynx(path));
    const { memory, ask } = await lab.open();
    await memory.sync();
    const { paths, report } = await ask("lynx", { maxResults: 20 });
    expect([paths.length, report.state]).toEqual([5, "ok"]);
    const status = memory.status();
    expect(qmdStatus({ memory })).toMatchObject({ waiting: 0, passedOver: 4 });
    expect(status.custom?.notices?.join("\n")).toMatch(/does not index 4 notes/);
    // They cause no further update.
    await memory.sync();
    expect(lab.fake.starts("update")).toHaveLength(1);
  });
});

describe("a sync", () => {
  test("that finds nothing new starts nothing", async () => {
    const { memory, ...lab } = await openIndexed({ "memory/a.md": lynx("mill") });
    const before = lab.fake.starts().length;
    expect(await memory.sync()).toMatchObject({ added: 0, unchanged: 1 });
    expect(lab.fake.starts()).toHaveLength(before);
  });

  test("drops what is left of deleted notes", async () => {
    const { memory, ...lab } = await openIndexed({ "memory/a.md": lynx("mill"), "memory/b.md": lynx("pond") });
    lab.remove("memory/b.md");
    expect(await memory.sync()).toMatchObject({ removed: 1 });
    expect(lab.fake.starts("cleanup")).toHaveLength(1);
    expect(readFileSync(join(lab.folder, "index.sqlite"), "utf8")).not.toContain("pond");
  });

  test("with force reads all files again, and rebuilds a damaged index", async () => {
    const { memory, ask, ...lab } = await openIndexed({ "memory/a.md": lynx("mill"), "memory/b.md": lynx("pond") });
    expect(await memory.sync({ force: true })).toMatchObject({ changed: 2, unchanged: 0 });
    writeFileSync(join(lab.folder, "index.sqlite"), "no database");
    expect(await memory.sync({ force: true })).toMatchObject({ changed: 2, unchanged: 0 });
    expect((await ask("lynx")).paths.toSorted()).toEqual(["memory/a.md", "memory/b.md"]);
  });

  test("fails as UNAVAILABLE if qmd fails, and the next one catches up", async () => {
    const lab = memoryLab();
    lab.write("memory/a.md", lynx("mill"));
    const { memory, ask } = await lab.open();
    lab.fake.set({ update: { diskFull: true } });
    const error = await errorOf(memory.sync());
    expect(MemoryError.is(error, "UNAVAILABLE")).toBe(true);
    expect(error.message).toMatch(/no_space/);
    // Only a busy index is tried again.
    expect(lab.fake.starts("update")).toHaveLength(1);
    expect(memory.status().lastSyncError).toMatch(/disk is full/);
    // A qmd that cannot make an index cannot be asked.
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

  test("writes the collections again if qmd reports none", async () => {
    const lab = memoryLab();
    lab.write("memory/a.md", lynx("mill"));
    const { memory } = await lab.open();
    lab.fake.set({ update: { desync: true } });
    expect((await errorOf(memory.sync())).message).toMatch(/unknown_collection/);
    expect(lab.fake.starts("update")).toHaveLength(2);
  });

  test("after an update that had to be killed rebuilds the index", async () => {
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

  test("indexes a new folder", async () => {
    const { memory, ask, ...lab } = await openIndexed({ "MEMORY.md": lynx("mill") });
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

test("check and compact report what they found and do not change answers", async () => {
  const lab = memoryLab();
  for (const name of ["a", "b", "c"]) lab.write(`memory/${name}.md`, lynx(`${name}place`));
  const { memory, ask } = await lab.open();
  await memory.sync();
  expect((await memory.check())?.findings.map(({ name, ok }) => [name, ok])).toEqual(data.soundFindings);
  const index = JSON.parse(readFileSync(join(lab.folder, "index.sqlite"), "utf8")) as { documents: unknown[] };
  writeFileSync(join(lab.folder, "index.sqlite"), JSON.stringify({ documents: index.documents.slice(1) }));
  const broken = await memory.check();
  expect([broken?.ok, broken?.findings.find(({ ok }) => !ok)?.message]).toEqual(data.missingNote);
  const repaired = await memory.check({ fix: true });
  expect(repaired?.ok).toBe(true);
  expect(repaired?.findings.filter(({ fixed }) => fixed !== undefined)).not.toEqual([]);
  expect(await memory.compact()).toMatchObject({ beforeBytes: expect.any(Number) as number });
  expect((await ask("lynx")).paths).toHaveLength(3);
});

test("a large file that is no memory is not indexed by qmd either", async () => {
  const { ask, ...lab } = await openIndexed({
    "memory/a.md": lynx("mill"),
    "memory/too large.md": "x".repeat(17 * 1024 * 1024),
  });
  expect((await ask("lynx")).paths).toEqual(["memory/a.md"]);
  expect(readFileSync(join(lab.folder, "index.sqlite"), "utf8").length).toBeLessThan(100_000);
});

/** A cache folder with files under the names of the models. */
function cacheWithModels(): string {
  const cache = tempFolder();
  const folder = join(cache, "qmd/models");
  mkdirSync(folder, { recursive: true });
  for (const uri of Object.values(models)) writeFileSync(join(folder, `hf_some_${uri.split("/").at(-1)}`), "GGUF");
  return cache;
}

/** Two notes that qmd has read and made vectors of. */
async function openSemantic(qmd: LabOptions["qmd"] = {}): Promise<MemoryLab & OpenedMemory> {
  const lab = memoryLab();
  lab.write("memory/a.md", "The lynx was seen near the old mill.\n");
  lab.write("memory/b.md", "Groceries, a walk, supper.\n");
  const opened = await lab.open({
    qmd: { searchMode: "vsearch", ...qmd },
    environment: { XDG_CACHE_HOME: cacheWithModels() },
  });
  await opened.memory.sync();
  await eventually(() => qmdStatus(opened)["needsEmbedding"] === 0);
  return { ...lab, ...opened };
}

describe("a search by meaning", () => {
  test("asks with the question as it is and with its words, and finds what shares no word", async () => {
    const lab = await openSemantic();
    const { results, report } = await lab.ask("Where was the lynx?", { minScore: 0 });
    const [call] = lab.fake.calls("query");
    expect(call?.arguments).toMatchObject(data.bothSearches);
    expect([report.mode, report.state]).toEqual(["hybrid", "ok"]);
    expect(results.map(({ path }) => path)).toEqual(["memory/a.md", "memory/b.md"]);
    // It is no cosine.
    expect(results.every(({ vectorScore }) => vectorScore === undefined)).toBe(true);
    expect(lab.memory.status().custom?.searchMode).toBe("hybrid");
    expect(await lab.memory.probeVectorAvailability()).toBe(true);
    for (const { env } of lab.fake.starts("mcp").slice(-1)) expect(env["CI"]).toBeUndefined();
  });

  test("is reranked only where the configuration says so", async () => {
    const lab = await openSemantic({ rerank: true });
    await lab.ask("Where was the lynx?");
    expect(lab.fake.calls("query")[0]?.arguments).toMatchObject({ rerank: true, candidateLimit: 10 });
  });

  test("that takes too long is answered by words in the same call, and not repeated for a while", async () => {
    const shared = tempFolder();
    for (let index = 0; index < 30; index++) writeFileSync(join(shared, `${index}.md`), `The puma rests, ${index}.\n`);
    const lab = await openSemantic({ limits: { timeoutMs: 4000 }, paths: [{ path: shared, name: "Shared notes" }] });
    lab.fake.set({ mcp: { hang: "models" } });
    const { results, report } = await lab.ask("lynx");
    expect(results.map(({ path }) => path)).toEqual(["memory/a.md"]);
    expect(report.state).toBe("degraded");
    expect(report.reason).toMatch(/keyword search only: ./);
    // A shared session is not given the words of qmd.
    const group = await lab.ask("puma", { sessionKey: "agent:main:telegram:group:-1" });
    expect(group.results).not.toEqual([]);
    expect(group.report.conditions).toMatchObject([{ state: "degraded", reason: "keyword search only" }]);
    expect(JSON.stringify(group.report)).not.toContain(report.reason);
    lab.fake.set({});
    const before = lab.fake.calls("query").length;
    const again = await lab.ask("lynx");
    expect(again.report.reason).toMatch(/keyword search only/);
    for (const { arguments: given } of lab.fake.calls("query").slice(before))
      expect(JSON.stringify(given)).not.toContain('"vec"');
  });

  test("without models is answered by words, reports it, and downloads nothing", async () => {
    const { memory, ask, ...lab } = await openIndexed(
      { "memory/a.md": "The lynx was seen near the old mill.\n" },
      {
        qmd: { searchMode: "query" },
        environment: { XDG_CACHE_HOME: tempFolder() },
      },
    );
    const { results, report } = await ask("lynx");
    expect(results).toHaveLength(1);
    expect([report.state, report.mode]).toEqual(["degraded", "keyword"]);
    expect(report.reason).toMatch(/models of qmd are not on this machine/);
    expect(report.action).toMatch(/qmd pull/);
    expect(await memory.probeEmbeddingAvailability()).toMatchObject({ ok: false });
    expect(await memory.probeVectorAvailability()).toBe(false);
    expect(lab.fake.starts("embed")).toEqual([]);
    for (const { env } of lab.fake.starts()) expect(env["CI"]).toBe("1");
  });

  test("while another process embeds is answered by words", async () => {
    const lab = memoryLab();
    lab.write("memory/a.md", "The lynx was seen near the old mill.\n");
    lab.fake.set({ embed: { embedLocked: true } });
    const { memory, ask } = await lab.open({
      qmd: { searchMode: "vsearch" },
      environment: { XDG_CACHE_HOME: cacheWithModels() },
    });
    await memory.sync();
    await eventually(() => lab.fake.starts("embed").length > 0);
    const { paths, report } = await ask("lynx");
    expect([paths, report.state]).toEqual([["memory/a.md"], "degraded"]);
    expect(report.reason).toMatch(/no embeddings/);
  });
});

describe("transcripts", () => {
  const memorySearch = { sources: ["memory", "sessions"] };
  const sessions = { sources: ["sessions"] };

  test("that grow are found by their new messages, also after the memory was opened again", async () => {
    const lab = memoryLab();
    const texts = ["The accordion is with Yusuf."];
    writeSession(lab, "talk", texts, 2);
    const { memory, ask } = await lab.open({ memorySearch });
    await memory.sync();
    writeSession(lab, "talk", [...texts, "And the trombone with Ada."], 1);
    await memory.sync();
    for (const word of ["accordion", "trombone"])
      expect((await ask(word, sessions)).paths).toEqual(["sessions/talk.jsonl"]);
    await memory.close();
    const again = await lab.open({ memorySearch });
    expect((await again.ask("trombone", sessions)).paths).toEqual(["sessions/talk.jsonl"]);
  });

  test("older than retentionDays are excluded, and exportDir receives the Markdown", async () => {
    const lab = memoryLab();
    writeSession(lab, "old", ["The accordion is with Yusuf."], 40);
    writeSession(lab, "new", ["The accordion is with Ada."], 1);
    const exportDir = join(lab.stateDir, "exported");
    const qmd = { sessions: { enabled: true, retentionDays: 30, exportDir } };
    const { memory, ask } = await lab.open({ memorySearch, qmd });
    await memory.sync();
    expect((await ask("accordion", sessions)).paths).toEqual(["sessions/new.jsonl"]);
    expect(readdirSync(exportDir)).toHaveLength(1);
    expect(existsSync(join(lab.folder, "sessions"))).toBe(false);
  });
});
