/** A value of a GGUF key with its type. */
export type GgufValue =
  | { type: "u32" | "i32" | "f32"; value: number }
  | { type: "bool"; value: boolean }
  | { type: "string"; value: string }
  | { type: "strings"; value: readonly string[] }
  | { type: "i32s"; value: readonly number[] };

/** A tensor of 32-bit floats; the first dimension is the innermost one. */
export interface GgufTensor {
  name: string;
  dimensions: readonly number[];
  data: Float32Array;
}

const typeNumbers = { u32: 4, i32: 5, f32: 6, bool: 7, string: 8, strings: 9, i32s: 9 } as const;
const alignment = 32;

/** The bytes of a GGUF file, version 3. */
export function ggufBytes(keys: Readonly<Record<string, GgufValue>>, tensors: readonly GgufTensor[]): Buffer {
  const entries = Object.entries(keys);
  const parts: Buffer[] = [Buffer.from("GGUF"), u32(3), u64(tensors.length), u64(entries.length)];
  for (const [name, value] of entries) parts.push(text(name), u32(typeNumbers[value.type]), valueBytes(value));
  let offset = 0;
  for (const { name, dimensions, data } of tensors) {
    parts.push(text(name), u32(dimensions.length), ...dimensions.map(u64), u32(0), u64(offset));
    offset = aligned(offset + data.byteLength);
  }
  const header = padded(Buffer.concat(parts));
  return Buffer.concat([
    header,
    ...tensors.map(({ data }) => padded(Buffer.from(data.buffer, data.byteOffset, data.byteLength))),
  ]);
}

function valueBytes(value: GgufValue): Buffer {
  switch (value.type) {
    case "string":
      return text(value.value);
    case "strings":
      return Buffer.concat([u32(typeNumbers.string), u64(value.value.length), ...value.value.map(text)]);
    case "i32s":
      return Buffer.concat([
        u32(typeNumbers.i32),
        u64(value.value.length),
        Buffer.from(Int32Array.from(value.value).buffer),
      ]);
    case "bool":
      return Buffer.from([value.value ? 1 : 0]);
    case "f32":
      return Buffer.from(Float32Array.of(value.value).buffer);
    default:
      return Buffer.from(Int32Array.of(value.value).buffer);
  }
}

function u32(value: number): Buffer {
  return Buffer.from(Uint32Array.of(value).buffer);
}

function u64(value: number): Buffer {
  return Buffer.from(BigUint64Array.of(BigInt(value)).buffer);
}

function text(value: string): Buffer {
  const bytes = Buffer.from(value);
  return Buffer.concat([u64(bytes.length), bytes]);
}

function aligned(length: number): number {
  return Math.ceil(length / alignment) * alignment;
}

function padded(bytes: Buffer): Buffer {
  return Buffer.concat([bytes, Buffer.alloc(aligned(bytes.length) - bytes.length)]);
}
