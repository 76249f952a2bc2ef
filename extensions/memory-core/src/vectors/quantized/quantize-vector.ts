/** Vectors in one block: what is read, kept and compared at a time. */
export const blockRows = 256;
const alignment = 16;
const factorBytes = 4;
const largestCode = 127;
const largestAsked = 32_767;
/** Sums of products stay below it, whatever the vectors. */
const largestSum = 2 ** 31 - 2 ** 20;
const lanes = 4;

/** Bytes of the codes of one vector: one for each number, and zeros up to a multiple of 16. */
export function codeWidth(dimensions: number): number {
  return Math.ceil(dimensions / alignment) * alignment;
}

export function bitWidth(width: number): number {
  return Math.ceil(width / (8 * alignment)) * alignment;
}

function rowBytes(width: number): number {
  return width + factorBytes;
}

/** Bytes of a block: the codes of all rows, then all factors. */
export function blockBytes(width: number): number {
  return blockRows * rowBytes(width);
}

export function widthOf(bytes: number): number {
  return bytes / blockRows - factorBytes;
}

/**
 * A unit vector minus the mean in int8 (scalar quantisation), scaled to the full range, with the float32 factor that
 * undoes it. The mean adds the same to all products, so the order stays.
 */
export function encodeVector(vector: Float32Array, mean?: Float32Array): Uint8Array {
  const width = codeWidth(vector.length);
  const bytes = new Uint8Array(rowBytes(width));
  const difference = differenceOf(vector, mean);
  const { peak } = sizeOf(difference);
  if (!(peak > 0) || !Number.isFinite(peak)) return bytes;
  const scale = largestCode / peak;
  const codes = new Int8Array(bytes.buffer);
  for (let index = 0; index < difference.length; index++) {
    const value = (difference[index] as number) * scale;
    // Faster than Math.round for every vector.
    codes[index] = Math.trunc(value + (value < 0 ? -0.5 : 0.5));
  }
  new DataView(bytes.buffer).setFloat32(width, 1 / scale, true);
  return bytes;
}

/** The unit vector minus the mean; for a zero vector only the mean. */
export function differenceOf(vector: Float32Array, mean: Float32Array | undefined): Float64Array {
  const { length } = sizeOf(vector);
  const scale = length > 0 ? 1 / length : 0;
  const difference = new Float64Array(vector.length);
  for (let index = 0; index < vector.length; index++)
    difference[index] = (vector[index] as number) * scale - (mean === undefined ? 0 : (mean[index] as number));
  return difference;
}

/** Quantises a query to int16 without overflow of sums (Cauchy-Schwarz). `unit` converts a sum to a cosine. */
export function encodeQuestion(vector: Float32Array | Float64Array): { numbers: Int16Array; unit: number } {
  const width = codeWidth(vector.length);
  const numbers = new Int16Array(width);
  const { peak, length } = sizeOf(vector);
  if (!(peak > 0)) return { numbers, unit: 0 };
  // Rounding lengthens a query by at most half a step per number.
  const room = largestSum / (largestCode * Math.sqrt(width)) - Math.sqrt(width) / 2;
  const scale = Math.min(largestAsked / peak, room / length);
  for (let index = 0; index < vector.length; index++) numbers[index] = Math.round((vector[index] as number) * scale);
  return { numbers, unit: 1 / (scale * length) };
}

export function questionCodes(vector: Float64Array, width: number): Int8Array {
  const { numbers } = encodeQuestion(vector);
  const peak = numbers.reduce((highest, value) => Math.max(highest, Math.abs(value)), 0);
  return Int8Array.from({ length: width }, (_, index) =>
    peak === 0 ? 0 : Math.round(((numbers[index] ?? 0) * largestCode) / peak),
  );
}

/** Bit-exact JavaScript version of `products` of the kernel for one row. */
export function productOf(row: Uint8Array, question: Int16Array): number {
  const codes = new Int8Array(row.buffer, row.byteOffset, question.length);
  let sum = 0;
  for (let index = 0; index < question.length; index++)
    sum = (sum + Math.imul(codes[index] as number, question[index] as number)) | 0;
  return Math.fround(Math.fround(sum) * factorOf(row, question.length));
}

function factorOf(row: Uint8Array, width: number): number {
  return new DataView(row.buffer, row.byteOffset).getFloat32(width, true);
}

/** Rows of the tail, a whole block of them, in the order of a block. */
export function packRows(rows: readonly Uint8Array[]): Buffer {
  const width = (rows[0]?.byteLength ?? factorBytes) - factorBytes;
  const block = Buffer.alloc(blockBytes(width));
  rows.forEach((row, index) => {
    block.set(row.subarray(0, width), index * width);
    block.set(row.subarray(width, width + factorBytes), blockRows * width + index * factorBytes);
  });
  return block;
}

/** Checksum of a block as in the kernel: Fletcher sums over int32 in four lanes, folded to 32 bits. */
export function checksumOf(bytes: Uint8Array): number {
  const words = new Int32Array(bytes.buffer, bytes.byteOffset, bytes.byteLength / Int32Array.BYTES_PER_ELEMENT);
  const plain = new Int32Array(lanes);
  const running = new Int32Array(lanes);
  for (let from = 0; from < words.length; from += lanes) {
    for (let lane = 0; lane < lanes; lane++) {
      plain[lane] = (plain[lane] as number) + (words[from + lane] as number);
      running[lane] = (running[lane] as number) + (plain[lane] as number);
    }
  }
  let folded = 0;
  for (let lane = 0; lane < lanes; lane++) {
    const sum = plain[lane] as number;
    // Rotated, so that single-bit changes do not cancel.
    folded ^= rotated((running[lane] as number) ^ rotated(sum, 13), 8 * lane);
  }
  return folded;
}

function rotated(word: number, bits: number): number {
  return bits === 0 ? word : (word << bits) | (word >>> (32 - bits));
}

function sizeOf(vector: Float32Array | Float64Array): { peak: number; length: number } {
  let peak = 0;
  let squares = 0;
  for (let index = 0; index < vector.length; index++) {
    const value = vector[index] as number;
    peak = Math.max(peak, Math.abs(value));
    squares += value * value;
  }
  return { peak, length: Math.sqrt(squares) };
}
