import { kernelBytes } from "./kernel-bytes.ts";
import { type SharedMemory, webAssembly } from "./web-assembly.ts";

/**
 * What `kernel.wat` does, in the memory that it was opened with. Places are bytes from its beginning, all of them a
 * multiple of 16; widths are bytes of a row, a multiple of 16; rows lie one behind the other.
 */
export interface Kernel {
  /** out[row] = factors[row] × Σ rows[row][i] × question[i]. Rows: int8; question: int16; factors, out: float32. `count` is a multiple of 4. */
  products(rows: number, question: number, factors: number, out: number, count: number, width: number): void;
  /** The same of one row, with its factor. */
  product(row: number, question: number, factor: number, width: number): number;
  /** out[row] = bits of the row that differ from those of the question (Hamming), as int32. `count` is a multiple of 4. */
  differences(rows: number, question: number, out: number, count: number, width: number): void;
  /** Sets the bits of `out`, all zero before, where a number of a row (int8) is greater than the threshold of its place. */
  signs(rows: number, thresholds: number, out: number, count: number, width: number, outWidth: number): void;
  /** Of bytes that are a multiple of 16, as `checksumOf` counts it. */
  checksum(at: number, bytes: number): number;
}

/** Throws what the engine of the host throws where it has no SIMD, or no WebAssembly. */
export function openKernel(memory: SharedMemory): Kernel {
  const { Module, Instance } = webAssembly();
  const module = new Module(Buffer.from(kernelBytes.join(""), "base64"));
  return new Instance(module, { env: { memory } }).exports as Kernel;
}
