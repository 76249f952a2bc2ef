import { createHash } from "node:crypto";

export function sha256(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}

/** `name 0`, `name 1` and so on. */
export function numbered(name: string, count: number, from = 0): string[] {
  return Array.from({ length: count }, (_, index) => `${name} ${from + index}`);
}

interface LedgerChunk {
  startLine: number;
  endLine: number;
  text: string;
  context: string;
  terms: string;
  hash: string;
}

interface LedgerFile {
  path: string;
  source: string;
  hash: string;
  mtimeMs: number;
  size: number;
  recipe: string;
  chunks: LedgerChunk[];
}

/** A file with one chunk for each text; the words of a chunk are those of its text. */
export function fileOf(path: string, texts: readonly string[], source = "memory"): LedgerFile {
  const chunks = texts.map((text, index) => {
    const line = index + 1;
    return { startLine: line, endLine: line, text, context: "", terms: text, hash: sha256(text) };
  });
  return { path, source, hash: sha256(texts.join("\n")), mtimeMs: 1.5, size: 10, recipe: "1", chunks };
}

/** A space of a provider that does not exist. */
export function spaceOf(
  model: string,
  dimensions = 8,
): { provider: string; model: string; providerKey: string; dimensions: number } {
  return { provider: "fake", model, providerKey: "", dimensions };
}

/** The same unit vector for the same text. */
export function vectorOf(text: string, dimensions = 8): Float32Array {
  const raw = new Float32Array(dimensions);
  // A digest holds eight numbers.
  for (let from = 0; from < dimensions; from += 8) {
    const digest = createHash("sha256").update(`${text}:${from}`).digest();
    for (let at = from; at < Math.min(from + 8, dimensions); at++)
      raw[at] = digest.readInt32BE((at - from) * 4) / 2 ** 31;
  }
  const length = Math.hypot(...raw);
  return raw.map((value) => value / length);
}
