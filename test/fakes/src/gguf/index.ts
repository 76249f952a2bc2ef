import { writeFileSync } from "node:fs";

export interface TinyGgufOptions {
  layers?: number | undefined;
  /** Length of the vectors; a multiple of `heads`. */
  dimensions?: number | undefined;
  heads?: number | undefined;
  /** Tokens that one text may have. */
  contextLength?: number | undefined;
  /** Words that are one token each, beside letters and short pieces. The more of them, the sharper the vectors. */
  words?: readonly string[] | undefined;
  /** `general.name`. */
  name?: string | undefined;
  seed?: number | undefined;
  /** A reranker: one number for query and text together, in place of a vector. */
  ranks?: boolean | undefined;
  /** Keys to leave out, to make a file that llama.cpp does not bear. */
  omit?: readonly string[] | undefined;
}

/**
 * Writes a working embedding model of some hundred kilobytes: a BERT with random weights, the same for the same
 * options. Its vectors are about the mean of the vectors of the pieces, so texts are alike that share words.
 * Gives the number of bytes.
 */
export function writeTinyGguf(path: string, options: TinyGgufOptions = {}): number {
  const bytes = tinyGguf(options);
  writeFileSync(path, bytes);
  return bytes.length;
}

function tinyGguf(options: TinyGgufOptions): Buffer {
  const { layers = 2, dimensions = 64, heads = 4, contextLength = 512, words = [], seed = 42, omit = [] } = options;
  const { ranks = false } = options;
  const tokens = vocabulary(words);
  const special = { padding: 0, unknown: 1, cls: 2, bos: 2, seperator: 3, eos: 3, mask: 4 };
  const keys: Record<string, GgufValue> = {
    "general.architecture": { type: "string", value: "bert" },
    "general.name": { type: "string", value: options.name ?? "tiny-bert" },
    "bert.block_count": { type: "u32", value: layers },
    "bert.context_length": { type: "u32", value: contextLength },
    "bert.embedding_length": { type: "u32", value: dimensions },
    "bert.feed_forward_length": { type: "u32", value: 2 * dimensions },
    "bert.attention.head_count": { type: "u32", value: heads },
    "bert.attention.layer_norm_epsilon": { type: "f32", value: 1e-12 },
    "bert.attention.causal": { type: "bool", value: false },
    // The mean of all tokens, or the score of the first one.
    "bert.pooling_type": { type: "u32", value: ranks ? 4 : 1 },
    "tokenizer.ggml.model": { type: "string", value: "bert" },
    "tokenizer.ggml.pre": { type: "string", value: "default" },
    "tokenizer.ggml.token_type_count": { type: "u32", value: 2 },
    "tokenizer.ggml.tokens": { type: "strings", value: tokens },
    // 3 is a control token, 1 an ordinary one.
    "tokenizer.ggml.token_type": { type: "i32s", value: tokens.map((_, index) => (index < 5 ? 3 : 1)) },
  };
  for (const [name, id] of Object.entries(special))
    keys[`tokenizer.ggml.${name}_token_id`] = { type: "u32", value: id };
  for (const key of omit) delete keys[key];
  return ggufBytes(keys, weights({ layers, dimensions, contextLength, tokens: tokens.length, seed, ranks }));
}

/** llama.cpp wants U+2581 before pieces that begin a word, and nothing before the others. */
function vocabulary(words: readonly string[]): string[] {
  const letters = [..."abcdefghijklmnopqrstuvwxyz0123456789"];
  const pairs = "th he in er an re on at en nd ti es or te of ed is it al ar st to nt ng se ha as ou io le".split(" ");
  const pieces = [...letters, ...pairs];
  const punctuation = [..."!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~"];
  const starting = [...pieces, ...punctuation, ...words].map((piece) => `\u2581${piece}`);
  return [...new Set(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", ...starting, ...pieces])];
}

interface Shape {
  layers: number;
  dimensions: number;
  contextLength: number;
  tokens: number;
  seed: number;
  ranks: boolean;
}

function weights({ layers, dimensions, contextLength, tokens, seed, ranks }: Shape): GgufTensor[] {
  const gaussian = gaussianNumbers(seed);
  const random = (name: string, shape: readonly number[], spread: number): GgufTensor => ({
    name,
    dimensions: shape,
    data: Float32Array.from({ length: shape.reduce((product, size) => product * size, 1) }, () => gaussian() * spread),
  });
  const filled = (name: string, shape: readonly number[], value: number): GgufTensor => ({
    name,
    dimensions: shape,
    data: new Float32Array(shape.reduce((product, size) => product * size, 1)).fill(value),
  });
  const norm = (name: string): GgufTensor[] => [
    filled(`${name}.weight`, [dimensions], 1),
    filled(`${name}.bias`, [dimensions], 0),
  ];
  const linear = (name: string, from: number, to: number): GgufTensor[] => [
    random(`${name}.weight`, [from, to], 0.02),
    filled(`${name}.bias`, [to], 0),
  ];
  const square = (name: string): GgufTensor[] => linear(name, dimensions, dimensions);
  const blocks = Array.from({ length: layers }, (_, index) => `blk.${index}`).flatMap((block) => [
    ...["attn_q", "attn_k", "attn_v", "attn_output"].flatMap((name) => square(`${block}.${name}`)),
    ...norm(`${block}.attn_output_norm`),
    ...linear(`${block}.ffn_up`, dimensions, 2 * dimensions),
    ...linear(`${block}.ffn_down`, 2 * dimensions, dimensions),
    ...norm(`${block}.layer_output_norm`),
  ]);
  return [
    random("token_embd.weight", [dimensions, tokens], 1),
    filled("token_types.weight", [dimensions, 2], 0),
    filled("position_embd.weight", [dimensions, contextLength], 0),
    ...norm("token_embd_norm"),
    ...blocks,
    ...(ranks ? [...linear("cls", dimensions, dimensions), ...linear("cls.output", dimensions, 1)] : []),
  ];
}

/** Normally distributed numbers, the same for the same seed. */
function gaussianNumbers(seed: number): () => number {
  let state = seed >>> 0;
  const uniform = (): number => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return (state + 0.5) / 2 ** 32;
  };
  return () => Math.sqrt(-2 * Math.log(uniform())) * Math.cos(2 * Math.PI * uniform());
}

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
