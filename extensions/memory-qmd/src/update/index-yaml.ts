import { readFileSync } from "node:fs";
import { join } from "node:path";
import { parse, stringify } from "yaml";
import type { Collection } from "./collections.ts";
import { replaceFileSync } from "@memslot/core/files";

/** The models of qmd 2.8.3. All three are named in the file, or qmd writes them into it itself. */
export const models = {
  embed: "hf:ggml-org/embeddinggemma-300M-GGUF/embeddinggemma-300M-Q8_0.gguf",
  rerank: "hf:ggml-org/Qwen3-Reranker-0.6B-Q8_0-GGUF/qwen3-reranker-0.6b-q8_0.gguf",
  generate: "hf:tobil/qmd-query-expansion-1.7B-gguf/qmd-query-expansion-1.7B-q4_k_m.gguf",
} as const;

/** A pattern that no note fits: a collection with it is emptied by the next update. */
export const nothing = ".nothing/none.md";

/**
 * Writes `index.yml`, where it says anything else or where `anew` is set. qmd takes its collections over when the file
 * differs from what it read last; the number in it goes up, so that it does. True where it was written.
 */
export function writeIndexYaml(
  folder: string,
  collections: readonly Pick<Collection, "name" | "root" | "pattern" | "ignore">[],
  anew: boolean,
): boolean {
  const file = join(folder, "index.yml");
  const wanted = Object.fromEntries(
    collections.map(({ name, root, pattern, ignore }) => [
      name,
      { path: root, pattern, ...(ignore.length > 0 && { ignore: [...ignore] }) },
    ]),
  );
  const there = read(file);
  const same = JSON.stringify([there?.["collections"], there?.["models"]]) === JSON.stringify([wanted, models]);
  if (same && !anew) return false;
  const before = Number(there?.["adapter_rev"]);
  // By the clock where the file could not be read: a number that was used before would not be noticed.
  const revision = Number.isSafeInteger(before) ? before + 1 : Date.now();
  replaceFileSync(file, stringify({ collections: wanted, models, adapter_rev: revision }));
  return true;
}

function read(file: string): Record<string, unknown> | undefined {
  try {
    const written: unknown = parse(readFileSync(file, "utf8"));
    return typeof written === "object" && written !== null ? (written as Record<string, unknown>) : undefined;
  } catch {
    // Missing or broken: it is written anew.
    return undefined;
  }
}
