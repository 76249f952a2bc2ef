import { kernelBytes } from "./kernel-bytes.ts";

/**
 * The functions of `kernel.wat` with their memory. Offsets and row widths are multiples of 16 bytes; rows are
 * contiguous.
 */
export interface Kernel {
  /**
   * out[row] = factors[row] × Σ rows[row][i] × question[i]. Rows: int8; question: int16; factors, out: float32. `count`
   * is a multiple of 4.
   */
  products(rows: number, question: number, factors: number, out: number, count: number, width: number): void;
  /** The same of one row, with its factor. */
  product(row: number, question: number, factor: number, width: number): number;
  /**
   * out[row] = bits of the row that differ from those of the question (Hamming), as int32. `count` is a multiple of 4.
   */
  differences(rows: number, question: number, out: number, count: number, width: number): void;
  /**
   * Sets the bits of `out`, all zero before, where a number of a row (int8) is greater than the threshold of its place.
   */
  signs(rows: number, thresholds: number, out: number, count: number, width: number, outWidth: number): void;
  /** Of bytes that are a multiple of 16, as `checksumOf` counts it. */
  checksum(at: number, bytes: number): number;
  bytes(): Uint8Array<SharedArrayBuffer>;
  /** Makes the memory at least so long. Returns false if its limit or that of the host is reached. */
  grow(bytes: number): boolean;
}

interface Memory {
  readonly buffer: SharedArrayBuffer;
  grow(pages: number): number;
}

/** WebAssembly, which the types of Node leave out. */
interface Host {
  Memory: new (size: { initial: number; maximum: number; shared: true }) => Memory;
  Module: new (bytes: Uint8Array) => object;
  Instance: new (module: object, imports: { env: { memory: Memory } }) => { exports: object };
}

const pageBytes = 65_536;
const mostPages = 65_536;
/** The memory grows in steps of that many pages. */
const growPages = 64;

/** Opens the kernel with a memory that can grow to `limitBytes`. Throws if the host lacks WebAssembly or SIMD. */
export function openKernel(bytes: number, limitBytes: number = bytes): Kernel {
  const { WebAssembly: host } = globalThis as { WebAssembly?: Host };
  if (host === undefined) throw new Error("this Node has no WebAssembly");
  const initial = Math.ceil(bytes / pageBytes);
  const steps = Math.ceil(Math.max(0, limitBytes - bytes) / pageBytes / growPages);
  const maximum = Math.min(mostPages, initial + steps * growPages);
  // Shared, so that views stay valid when it grows.
  const memory = new host.Memory({ initial, maximum, shared: true });
  const module = new host.Module(Buffer.from(kernelBytes.join(""), "base64"));
  const { exports } = new host.Instance(module, { env: { memory } });
  let view = new Uint8Array(memory.buffer);
  return {
    ...(exports as Omit<Kernel, "bytes" | "grow">),
    bytes: () => view,
    grow(wanted) {
      const missing = Math.ceil((wanted - view.byteLength) / pageBytes);
      if (missing <= 0) return true;
      try {
        memory.grow(Math.max(missing, growPages));
      } catch {
        return false;
      }
      view = new Uint8Array(memory.buffer);
      return true;
    },
  };
}
