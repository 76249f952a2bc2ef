import { type FileHandle, open } from "node:fs/promises";
import table from "./tensor-blocks.json" with { type: "json" };

/** Facts from the head of a GGUF file. */
export interface GgufInfo {
  name: string | undefined;
  contextLength: number | undefined;
  dimensions: number | undefined;
}

/** Reads the head of a model file and checks the file size against it. Throws an `Error` with the reason. */
export async function readGguf(path: string): Promise<GgufInfo> {
  const file = await open(path, "r");
  try {
    const { size } = await file.stat();
    const header = await readHeader(file, size);
    if (size < header.end) throw new Error(`it is cut short: ${size} of ${header.end} bytes are there`);
    return infoOf(header.keys);
  } finally {
    await file.close();
  }
}

const firstReadBytes = 256 * 1024;
const maxHeaderBytes = 256 * 1024 * 1024;

async function readHeader(file: FileHandle, size: number): Promise<Header> {
  for (let wanted = firstReadBytes; ; wanted *= 32) {
    const buffer = Buffer.allocUnsafe(Math.min(wanted, size, maxHeaderBytes));
    const { bytesRead } = await file.read(buffer, 0, buffer.length, 0);
    const bytes = buffer.subarray(0, bytesRead);
    if (bytes.toString("latin1", 0, 4) !== "GGUF") throw new Error("it is not a GGUF file");
    try {
      return parseHeader(bytes);
    } catch (error) {
      if (error !== tooShort) throw error;
      if (buffer.length === size) throw new Error("it is cut short: it ends within its head", { cause: error });
      if (buffer.length === maxHeaderBytes) throw new Error("its head cannot be read", { cause: error });
    }
  }
}

interface Header {
  keys: ReadonlyMap<string, string | number>;
  end: number;
}

const tooShort = new Error("the bytes end before the head does");
const defaultAlignment = 32;

function parseHeader(bytes: Buffer): Header {
  const cursor = new Cursor(bytes);
  cursor.skip(4);
  const version = cursor.u32();
  if (version !== 2 && version !== 3) throw new Error(`it is a GGUF file of version ${version}, which is not known`);
  const tensorCount = cursor.u64();
  const keyCount = cursor.u64();
  const keys = new Map<string, string | number>();
  for (let index = 0; index < keyCount; index++) {
    const name = cursor.text();
    const value = readValue(cursor, cursor.u32());
    if (value !== undefined) keys.set(name, value);
  }
  let dataBytes = 0;
  for (let index = 0; index < tensorCount; index++) {
    cursor.skip(cursor.u64());
    let numbers = 1;
    for (let dimensions = cursor.u32(); dimensions > 0; dimensions--) numbers *= cursor.u64();
    const type = cursor.u32();
    dataBytes = Math.max(dataBytes, cursor.u64() + tensorBytes(type, numbers));
  }
  const alignment = Number(keys.get("general.alignment") ?? defaultAlignment);
  const end = tensorCount === 0 ? cursor.at : Math.ceil(cursor.at / alignment) * alignment + dataBytes;
  return { keys, end };
}

class Cursor {
  at = 0;
  readonly #bytes: Buffer;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  /** Skips a number of bytes and returns their offset. */
  skip(length: number): number {
    if (length > this.#bytes.length - this.at) throw tooShort;
    this.at += length;
    return this.at - length;
  }

  u32(): number {
    return this.#bytes.readUInt32LE(this.skip(4));
  }

  u64(): number {
    return this.u32() + this.u32() * 2 ** 32;
  }

  text(): string {
    const from = this.skip(this.u64());
    return this.#bytes.toString("utf8", from, this.at);
  }

  scalar(type: number): number {
    const from = this.skip(sizeOf(type));
    if (type === 4) return this.#bytes.readUInt32LE(from);
    if (type === 5) return this.#bytes.readInt32LE(from);
    if (type === 10) return Number(this.#bytes.readBigUInt64LE(from));
    return Number.NaN;
  }
}

const stringType = 8;
const arrayType = 9;
const valueBytes: readonly (number | undefined)[] = [1, 1, 2, 2, 4, 4, 4, 1, undefined, undefined, 8, 8, 8];

function sizeOf(type: number): number {
  const size = valueBytes[type];
  if (size === undefined) throw new Error(`its head is damaged: there is no value of type ${type}`);
  return size;
}

function readValue(cursor: Cursor, type: number): string | number | undefined {
  if (type === stringType) return cursor.text();
  if (type !== arrayType) return cursor.scalar(type);
  const itemType = cursor.u32();
  const count = cursor.u64();
  if (itemType === arrayType) for (let index = 0; index < count; index++) readValue(cursor, arrayType);
  else if (itemType === stringType) for (let index = 0; index < count; index++) cursor.skip(cursor.u64());
  else cursor.skip(count * sizeOf(itemType));
  return undefined;
}

/** Numbers and bytes of a block, by tensor type: F32, F16, Q4_0 … Q8_0, Q2_K … Q6_K, BF16. */
const blocks: Readonly<Record<string, readonly number[]>> = table;

/** A type that is not in the table needs at least one byte. */
function tensorBytes(type: number, numbers: number): number {
  const [size = 1, bytes = 1] = blocks[type] ?? [];
  return type in blocks ? Math.ceil(numbers / size) * bytes : 1;
}

function infoOf(keys: ReadonlyMap<string, string | number>): GgufInfo {
  const architecture = String(keys.get("general.architecture"));
  const whole = (name: string): number | undefined => {
    const value = keys.get(`${architecture}.${name}`);
    return typeof value === "number" && Number.isInteger(value) && value > 0 ? value : undefined;
  };
  const name = keys.get("general.name");
  return {
    name: typeof name === "string" ? name : undefined,
    contextLength: whole("context_length"),
    dimensions: whole("embedding_length"),
  };
}
