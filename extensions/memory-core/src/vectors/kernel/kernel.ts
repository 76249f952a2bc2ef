import { kernelBytes } from "./kernel-bytes.ts";

/** The functions of `kernel.wat`. Offsets and row widths are multiples of 16 bytes; rows are contiguous. */
export interface Kernel {
  /** out[row] = factors[row] × Σ rows[row][i] × question[i]; int8 × int16, float32 out. `count`: a multiple of 4. */
  products(rows: number, question: number, factors: number, out: number, count: number, width: number): void;
  product(row: number, question: number, factor: number, width: number): number;
  /** out[row] = Hamming distance of the row to the question, int32. `count` is a multiple of 4. */
  differences(rows: number, question: number, out: number, count: number, width: number): void;
  /** Sets the bits of a zeroed `out` where a number of a row (int8) exceeds its threshold. */
  signs(rows: number, thresholds: number, out: number, count: number, width: number, outWidth: number): void;
  /** Of bytes that are a multiple of 16, as `checksumOf` counts it. */
  checksum(at: number, bytes: number): number;
  bytes(): Uint8Array<SharedArrayBuffer>;
  /** Grows the memory to this size. False at its limit or that of the host. */
  grow(bytes: number): boolean;
}

interface Memory {
  readonly buffer: SharedArrayBuffer;
  grow(pages: number): number;
}

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
