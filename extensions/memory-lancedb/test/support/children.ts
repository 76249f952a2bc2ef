import type { ChunkStore } from "@memslot/indexing";
import { type Child, type ChildOptions, startChild } from "@memslot/test-tools/child";
import { expect } from "vitest";
import { partsOfVersion } from "./file-versions.ts";
import type { ChildWork } from "./lance-child.ts";
import { find } from "./stores.ts";

/** Starts a process that works with a store. It is killed after the test. */
export function startWork(work: ChildWork, options?: ChildOptions): Child {
  return startChild(new URL("./lance-child.ts", import.meta.url), [JSON.stringify(work)], options);
}

/** Every listed file has the chunks of one version, the one that it is listed with. Returns the number of files. */
export async function expectWholeFiles(store: ChunkStore): Promise<number> {
  const files = await store.listFiles();
  const texts = Map.groupBy(await find(store, "of"), (text) => text.split(" ")[1]);
  for (const { path, hash } of files) {
    const version = hash.replace("hash", "version");
    expect(texts.get(path)?.toSorted()).toEqual(
      Array.from({ length: partsOfVersion }, (_, part) => `of ${path} ${version} part${part}`),
    );
  }
  expect(texts.size).toBe(files.length);
  return files.length;
}
