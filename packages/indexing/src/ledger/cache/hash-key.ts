/** The hash of a chunk as it is stored: the 32 bytes of a SHA-256, or a hash of another kind as it was given. */
export type HashKey = Buffer | string;

const sha256 = /^[0-9a-f]{64}$/u;

export function toKey(hash: string): HashKey {
  return sha256.test(hash) ? Buffer.from(hash, "hex") : hash;
}

export function toHash(key: HashKey): string {
  return typeof key === "string" ? key : key.toString("hex");
}
