import type { FileRecord } from "@memslot/indexing";
import type { IndexedSource } from "@memslot/indexing/engine";
import { indexTerms } from "@memslot/indexing";
import { emptyScan } from "../../src/scan/scan.ts";

export interface FakeSource extends IndexedSource {
  recipe: string;
  /** Path and text; the version of a file goes up with each `write`. */
  write(path: string, text: string): void;
  remove(path: string): void;
  /** The paths that were read, in their order. */
  readonly reads: string[];
  /** Runs before a file is read. */
  beforeRead: ((path: string) => void | Promise<void>) | undefined;
}

/** Notes without a disk: one chunk for each file. */
export function createFakeSource(files: Record<string, string> = {}, source = "memory"): FakeSource {
  const kept = new Map<string, { text: string; version: number }>();
  const reads: string[] = [];
  let version = 0;
  const fake: FakeSource = {
    source,
    recipe: "r1",
    reads,
    beforeRead: undefined,
    write: (path, text) => void kept.set(path, { text, version: ++version }),
    remove: (path) => void kept.delete(path),
    async scan() {
      const found = [...kept].map(([path, file]) => ({
        path,
        absolutePath: `/${path}`,
        mtimeMs: file.version,
        size: file.text.length,
      }));
      return {
        ...emptyScan(),
        files: found,
        roots: [{ path: source, state: "indexed", files: found.length }],
      };
    },
    async read(file) {
      await fake.beforeRead?.(file.path);
      reads.push(file.path);
      const own = kept.get(file.path);
      if (!own) return undefined;
      const record: FileRecord = {
        path: file.path,
        source,
        hash: `${own.text}`,
        mtimeMs: own.version,
        size: own.text.length,
        recipe: fake.recipe,
      };
      const { text } = own;
      const chunk = { startLine: 1, endLine: 1, text, context: "", terms: indexTerms(text), hash: `#${text}` };
      return { record, changed: { ...record, chunks: [chunk] } };
    },
  };
  for (const [path, text] of Object.entries(files)) fake.write(path, text);
  return fake;
}
