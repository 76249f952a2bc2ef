import { createHash } from "node:crypto";

export interface StoredObject {
  bytes: Buffer;
  /** With the quotation marks. */
  etag: string;
  modified: Date;
}

/** What a write wants to be so before it takes place. */
export interface WriteCondition {
  /** Only where there is no such object. */
  ifNoneMatch?: boolean | undefined;
  /** Only where the object has this ETag. */
  ifMatch?: string | undefined;
}

export type WriteOutcome =
  | { written: StoredObject }
  | { refused: "exists" | "changed" | "missing" | "full" | "unsupported" };

/** Objects by their path, `bucket/key`. Each write is one step: nobody sees half of it. */
export interface ObjectTable {
  get(path: string): StoredObject | undefined;
  put(path: string, bytes: Buffer, condition: WriteCondition): WriteOutcome;
  delete(path: string): void;
  /** Paths that begin so and come after another one, in order. */
  paths(prefix: string, after: string): string[];
  count(): number;
  bytes(): number;
}

export function createObjectTable(maxBytes: number): ObjectTable {
  const objects = new Map<string, StoredObject>();
  let total = 0;

  function unmet(
    current: StoredObject | undefined,
    condition: WriteCondition,
  ): "exists" | "changed" | "missing" | null {
    if (condition.ifNoneMatch === true && current !== undefined) return "exists";
    if (condition.ifMatch === undefined) return null;
    if (current === undefined) return "missing";
    return current.etag === condition.ifMatch ? null : "changed";
  }

  return {
    get: (path) => objects.get(path),
    put(path, bytes, condition) {
      const current = objects.get(path);
      const refused = unmet(current, condition);
      if (refused !== null) return { refused };
      const grown = total + bytes.length - (current?.bytes.length ?? 0);
      if (grown > maxBytes) return { refused: "full" };
      total = grown;
      const written = { bytes, etag: etagOf(bytes), modified: new Date() };
      objects.set(path, written);
      return { written };
    },
    delete(path) {
      total -= objects.get(path)?.bytes.length ?? 0;
      objects.delete(path);
    },
    paths: (prefix, after) => [...objects.keys()].filter((path) => path.startsWith(prefix) && path > after).toSorted(),
    count: () => objects.size,
    bytes: () => total,
  };
}

export function etagOf(bytes: Buffer): string {
  return `"${createHash("md5").update(bytes).digest("hex")}"`;
}
