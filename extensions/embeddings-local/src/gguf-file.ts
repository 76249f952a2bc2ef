import { type FileHandle, open } from "node:fs/promises";

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
    if (bytes.toString("latin1", 0, 4) !== "GGUF") throw new Error("it is no GGUF file");
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
  const cursor = cursorOf(bytes);
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
  const end = tensorCount === 0 ? cursor.at() : Math.ceil(cursor.at() / alignment) * alignment + dataBytes;
  return { keys, end };
}

interface Cursor {
  at(): number;
  skip(length: number): void;
  u32(): number;
  u64(): number;
  text(): string;
  /** Skips this many texts: there may be hundreds of thousands. */
  skipTexts(count: number): void;
  scalar(type: number): number;
}

function cursorOf(bytes: Buffer): Cursor {
  let at = 0;
  const take = (length: number): number => {
    const from = at;
    if (length > bytes.length - from) throw tooShort;
    at += length;
    return from;
  };
  const u32 = (): number => bytes.readUInt32LE(take(4));
  const u64 = (): number => u32() + u32() * 2 ** 32;
  const text = (): string => {
    const length = u64();
    const from = take(length);
    return bytes.toString("utf8", from, from + length);
  };
  const skipTexts = (count: number): void => {
    let to = at;
    for (let index = 0; index < count; index++) {
      if (to + 8 > bytes.length) throw tooShort;
      to += 8 + bytes.readUInt32LE(to) + bytes.readUInt32LE(to + 4) * 2 ** 32;
    }
    take(to - at);
  };
  const scalar = (type: number): number => {
    const from = take(sizeOf(type));
    if (type === 4) return bytes.readUInt32LE(from);
    if (type === 5) return bytes.readInt32LE(from);
    if (type === 10) return Number(bytes.readBigUInt64LE(from));
    return Number.NaN;
  };
  return { at: () => at, skip: (length) => void take(length), u32, u64, text, skipTexts, scalar };
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
  else if (itemType === stringType) cursor.skipTexts(count);
  else cursor.skip(count * sizeOf(itemType));
  return undefined;
}

const blocks: Readonly<Record<number, readonly [numbers: number, bytes: number]>> = {
  0: [1, 4], // F32
  1: [1, 2], // F16
  2: [32, 18], // Q4_0
  3: [32, 20], // Q4_1
  6: [32, 22], // Q5_0
  7: [32, 24], // Q5_1
  8: [32, 34], // Q8_0
  10: [256, 84], // Q2_K
  11: [256, 110], // Q3_K
  12: [256, 144], // Q4_K
  13: [256, 176], // Q5_K
  14: [256, 210], // Q6_K
  30: [1, 2], // BF16
};

/** A type that is not in the table needs at least one byte. */
function tensorBytes(type: number, numbers: number): number {
  const block = blocks[type];
  return block === undefined ? 1 : Math.ceil(numbers / block[0]) * block[1];
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
