import type { FileChunks, VectorSpace } from "@memslot/indexing";

export const versionSpace: VectorSpace = { provider: "fake", model: "m", providerKey: "", dimensions: 8 };

export const partsOfVersion = 6;

/** One version of a file: each chunk names the file and the version. */
export function fileVersion(path: string, version: number): FileChunks {
  const chunks = Array.from({ length: partsOfVersion }, (_, part) => {
    const text = `of ${path} version${version} part${part}`;
    return { startLine: part + 1, endLine: part + 1, text, context: "", terms: text, hash: text };
  });
  return { path, source: "memory", hash: `hash${version}`, recipe: "1", chunks };
}

/** Some vector of unit length. */
export function versionVector(text: string): Float32Array {
  const last = text.at(-1)?.charCodeAt(0) ?? 0;
  const raw = Float32Array.from({ length: 8 }, (_, index) => Math.sin(text.length * 7 + index + last));
  const length = Math.hypot(...raw);
  return raw.map((value) => value / length);
}
