import type { VectorSpace } from "../../chunk-store.ts";
import { StoreFailure } from "../thread/store-failure.ts";

/** The hash of a chunk as it is stored: the 32 bytes of a SHA-256, or a hash of another kind as it was given. */
export type HashKey = Buffer | string;

const sha256 = /^[0-9a-f]{64}$/u;

export function toKey(hash: string): HashKey {
  return sha256.test(hash) ? Buffer.from(hash, "hex") : hash;
}

export function toHash(key: HashKey): string {
  return typeof key === "string" ? key : key.toString("hex");
}

const bytesPerNumber = 4;

export function lengthOf(vector: Float32Array): number {
  let squares = 0;
  for (const value of vector) squares += value * value;
  return Math.sqrt(squares);
}

/** The bytes of a vector as they are stored: float32, in the byte order of the machine, which is little-endian. */
export function toBytes(vector: Float32Array): Buffer {
  return Buffer.from(vector.buffer, vector.byteOffset, vector.byteLength);
}

/** The numbers of a stored vector. */
export function toVector(bytes: Buffer): Float32Array {
  // A small buffer is cut out of a shared pool and may begin at any byte.
  const aligned = bytes.byteOffset % bytesPerNumber === 0 ? bytes : new Uint8Array(bytes);
  return new Float32Array(aligned.buffer, aligned.byteOffset, bytes.byteLength / bytesPerNumber);
}

/** Throws `INVALID_ARGUMENT` for a vector that is not of this space, or that cannot be compared with any. */
export function checkVector(vector: Float32Array, space: VectorSpace): void {
  if (vector.length !== space.dimensions) {
    throw new StoreFailure(
      "INVALID_ARGUMENT",
      `a vector has ${vector.length} numbers, the space ${space.provider}/${space.model} has ${space.dimensions}`,
    );
  }
  const length = lengthOf(vector);
  if (length === 0 || !Number.isFinite(length)) {
    throw new StoreFailure(
      "INVALID_ARGUMENT",
      `a vector of ${space.provider}/${space.model} is all zero or not finite`,
    );
  }
}
