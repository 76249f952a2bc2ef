import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { describe, expect, test } from "vitest";
import { type House, useHouse } from "../support/temp-workspace.ts";
import { noteName, twoPartNotes } from "../support/generated-notes.ts";
import { embeddedTexts, type RemoteMemory, resultOf } from "../support/start-memory.ts";

// No FTS5: extensions/memory-core/test. No node-llama-cpp, or one that crashes: extensions/embeddings-local/test.

const fileCount = 30;

function useNotes(): House {
  const house = useHouse();
  house.write(twoPartNotes(fileCount));
  house.letSettle();
  return house;
}

/** A process in which a package cannot be loaded, in none of its threads. */
function without(house: House, name: string): { env: NodeJS.ProcessEnv } {
  const hook = path.join(house.folder, "hook.mjs");
  writeFileSync(
    hook,
    `import { registerHooks } from "node:module";
     registerHooks({
       resolve(specifier, context, next) {
         if (specifier === ${JSON.stringify(name)}) throw new Error("the package ${name} was not built for this system");
         return next(specifier, context);
       },
     });`,
  );
  return { env: { NODE_OPTIONS: `--import=${pathToFileURL(hook).href}` } };
}

async function useMemory(memory: RemoteMemory): Promise<void> {
  resultOf(await memory.open());
  expect(resultOf(await memory.sync())).toMatchObject({ failed: [] });
  const { results, report } = resultOf(await memory.search("which kitten knows word7"));
  expect(report).toMatchObject({
    state: "ok",
    mode: "hybrid",
    legs: { vector: { candidates: expect.any(Number) as number } },
  });
  expect(report.legs.vector?.candidates).toBeGreaterThan(0);
  expect(results[0]).toMatchObject({ path: noteName(7), vectorScore: expect.any(Number) as number });
}

const inMemoryCore = createRequire(new URL("../../extensions/memory-core/package.json", import.meta.url));
const { getLoadablePath } = inMemoryCore("sqlite-vec") as { getLoadablePath: () => string };

/** Where the extension is looked for and cannot be loaded, each in a folder of its own. */
const missing: Record<string, (file: string) => void> = {
  "is missing": () => undefined,
  "is no library": (file) => writeFileSync(file, "not a library"),
  "is a library for another machine"(file) {
    const library = readFileSync(getLoadablePath());
    // `e_machine` in the header of an ELF file, and a number that no machine has.
    library.writeUInt16LE(0x7777, 18);
    writeFileSync(file, library);
  },
  "is refused by the loader": (file) => void mkdirSync(file),
};

describe("the vector extension", () => {
  test.each(Object.entries(missing))(
    "that %s: the same answers by another way, its error in the status and in one warning",
    async (_, make) => {
      const house = useNotes();
      const extensionPath = path.join(house.folder, "vec0.so");
      make(extensionPath);
      const store = { vector: { engine: "sqlite-vec", extensionPath } };
      const log = path.join(house.folder, "texts.log");
      const memory = house.start({ model: "model-a", memorySearch: { store }, embedLog: log });
      await useMemory(memory);
      const { results: slow } = resultOf(await memory.search("the piano of number 7"));
      const { vector, custom } = resultOf(await memory.status());
      expect(vector).toMatchObject({
        available: false,
        semanticAvailable: true,
        extensionPath,
      });
      expect(vector?.loadError).toMatch(/\S/u);
      expect(resultOf(await memory.check())).toMatchObject({ ok: true });
      expect([custom?.notices, memory.notices]).toEqual([[expect.stringContaining(vector?.loadError ?? "?")], []]);
      resultOf(await memory.close());
      expect(memory.stderr()).toBe("");

      // It is there again: vectors are laid out for it from what is stored.
      const sent = embeddedTexts(log).length;
      const again = house.start({ model: "model-a", embedLog: log });
      await useMemory(again);
      const { results: fast } = resultOf(await again.search("the piano of number 7"));
      expect(fast.map(({ path }) => path)).toEqual(slow.map(({ path }) => path));
      expect(resultOf(await again.status()).vector).toMatchObject({ available: true });
      expect(resultOf(await again.check())).toMatchObject({ ok: true });
      resultOf(await again.close());
      expect(embeddedTexts(log)).toHaveLength(sent);
      expect(sent).toBe(fileCount);
    },
  );

  test("whose package cannot be loaded: the same", async () => {
    const house = useNotes();
    const memory = house.start(
      { model: "model-a", memorySearch: { store: { vector: { engine: "sqlite-vec" } } } },
      without(house, "sqlite-vec"),
    );
    await useMemory(memory);
    expect(resultOf(await memory.status()).vector).toMatchObject({
      available: false,
      loadError: expect.stringContaining("was not built for this system") as string,
    });
    resultOf(await memory.close());
    expect(memory.stderr()).toBe("");
  });
});

test("without SQLite there is no index, and the error says which package to put right", async () => {
  const house = useNotes();
  const memory = house.start({ model: "model-a" }, without(house, "better-sqlite3"));
  const { error } = await memory.open();
  expect(error).toMatchObject({ code: "UNAVAILABLE" });
  expect(error?.message).toMatch(/better-sqlite3/u);
  expect(error?.message).toContain("was not built for this system");
  resultOf(await memory.close());
  expect(memory.stderr()).toBe("");
});
