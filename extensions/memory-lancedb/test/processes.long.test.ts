import { readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { tempFolder } from "@memslot/test-tools/files";
import { eventually } from "@memslot/test-tools/wait";
import { describe, expect, test } from "vitest";
import { partsOfVersion, versionSpace, versionVector } from "./support/file-versions.ts";
import type { ChildWork } from "./support/lance-child.ts";
import { expectWholeFiles, startWork } from "./support/children.ts";
import { find, inBucket, openedIn, open, openIn, type Store, startStorage } from "./support/stores.ts";

interface Shared {
  /** How a process gets at the index. */
  settings: Pick<ChildWork, "lance" | "stateDir">;
  open(): Promise<Store>;
  /** Writes that met one of another process. */
  met(): number;
  /** Waits until a process has begun to write. */
  begun(): Promise<void>;
}

const places: [string, () => Promise<Shared>][] = [
  [
    "a folder",
    async () => {
      const stateDir = tempFolder();
      const begun = async (): Promise<void> => undefined;
      return { settings: { stateDir }, open: () => open(stateDir), met: () => 1, begun };
    },
  ],
  [
    "a bucket",
    async () => {
      const storage = await startStorage();
      return {
        settings: { lance: inBucket(storage), stateDir: tempFolder() },
        open: () => openIn(storage),
        met: () => storage.stats().refusedWrites,
        begun: () => eventually(() => storage.keys("notes", "").length > 60),
      };
    },
  ],
];

describe.each(places)("in %s", (_where, share) => {
  test("two processes that write at once are both found, each file once", { timeout: 300_000 }, async () => {
    const shared = await share();
    const children = ["a", "b"].map((prefix) =>
      startWork({ does: "write", ...shared.settings, prefix, batches: 20, apart: true, waits: true }),
    );
    for (const child of children) await child.line("open");
    const before = shared.met();
    for (const child of children) child.process.stdin?.write("go\n");
    for (const child of children) expect(await child.ended, child.output()).toBe(0);
    const store = await shared.open();
    expect(await expectWholeFiles(store)).toBe(200);
    const own = (prefix: string): string[] => Array.from({ length: 100 }, (_, index) => `${prefix}${index}.md`);
    expect((await store.listFiles()).map(({ path }) => path).toSorted()).toEqual([...own("a"), ...own("b")].toSorted());
    const query = { space: versionSpace, vector: versionVector("any"), sources: ["memory"], limit: 5000 };
    expect((await store.searchVector(query)).rows).toHaveLength(200 * partsOfVersion);
    if (shared.settings.lance) expect(shared.met(), "they have met").toBeGreaterThan(before);
  });

  test("a process that is killed while it writes leaves whole files, and the next one continues", async () => {
    const shared = await share();
    for (let kill = 0; kill < 5; kill++) {
      const child = startWork({ does: "write", ...shared.settings, prefix: `k${kill}-`, apart: kill === 4 });
      // The first one is killed while it makes the tables.
      await child.line(kill === 0 ? "open" : "wrote");
      if (kill === 4) await shared.begun();
      child.process.kill("SIGKILL");
      await child.ended;
      const store = await shared.open();
      await expectWholeFiles(store);
      await store.close();
    }
    expect((await (await shared.open()).listFiles()).length).toBeGreaterThanOrEqual(20);
  }, 120_000);
});

test("two processes that write the same files leave the last version, and one that is open finds it", async () => {
  const stateDir = tempFolder();
  const store = await open(stateDir);
  expect(await find(store, "part0")).toEqual([]);
  const children = ["a-", "b-"].map((prefix) => startWork({ does: "write", stateDir, prefix, batches: 12 }));
  for (const child of children) expect(await child.ended, child.output()).toBe(0);
  expect(await expectWholeFiles(store)).toBe(10);
  expect((await store.listFiles()).every(({ hash }) => hash === "hash11")).toBe(true);
}, 120_000);

test("a rebuild that is killed again and again changes no answer, and is resumed", async () => {
  const stateDir = tempFolder();
  expect(await startWork({ does: "write", stateDir, prefix: "old-", batches: 2 }).ended).toBe(0);
  for (let kill = 0; kill < 3; kill++) {
    const child = startWork({ does: "write", stateDir, prefix: `new${kill}-`, build: true });
    await child.line("wrote");
    child.process.kill("SIGKILL");
    await child.ended;
    const store = await openedIn(stateDir);
    expect(await expectWholeFiles(store)).toBe(5);
    await store.close();
  }
  const store = await open(stateDir);
  const build = await store.build("a rebuild");
  expect(await build.listFiles()).toHaveLength(15);
  await build.finish();
  expect(await expectWholeFiles(store)).toBe(15);
  expect(await find(store, "old-0.md")).toEqual([]);
}, 120_000);

describe("in a process in which a package cannot be loaded", () => {
  async function openWithout(name: string, before = ""): Promise<{ stateDir: string; outcome: object }> {
    const hook = join(tempFolder(), "hook.mjs");
    writeFileSync(
      hook,
      `import { registerHooks } from "node:module";
       ${before}
       registerHooks({
         resolve(specifier, context, next) {
           if (specifier === ${JSON.stringify(name)}) throw new Error("Cannot find native binding");
           return next(specifier, context);
         },
       });`,
    );
    const stateDir = tempFolder();
    const env = { NODE_OPTIONS: `--import=${pathToFileURL(hook).href}` };
    const child = startWork({ does: "open", stateDir }, { env });
    const line = await child.line("{");
    expect(await child.ended).toBe(0);
    return { stateDir, outcome: JSON.parse(line) as object };
  }
  const mac = `Object.defineProperty(process, "platform", { value: "darwin" });
    Object.defineProperty(process, "arch", { value: "x64" });`;

  test.each([
    ["LanceDB", "", ["Cannot find native binding", `${process.platform}-${process.arch}`]],
    ["LanceDB on a Mac with an Intel processor", mac, ["no binary for darwin-x64"]],
  ])("%s: the error opens a fallback backend, and names the machine and what to do", async (_what, before, parts) => {
    const { stateDir, outcome } = await openWithout("@lancedb/lancedb", before);
    for (const part of [...parts, 'plugins.slots.memory to "memory-core"'])
      expect(outcome).toMatchObject({ code: "UNAVAILABLE", message: expect.stringContaining(part) });
    expect(readdirSync(stateDir), "nothing is left behind").toEqual([]);
  });

  test("better-sqlite3: the store works all the same", async () => {
    expect((await openWithout("better-sqlite3")).outcome).toEqual({ opened: true });
  });
});
