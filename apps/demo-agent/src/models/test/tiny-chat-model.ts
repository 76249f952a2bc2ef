import { writeFileSync } from "node:fs";

export interface TinyChatModelOptions {
  /** Tokens that the model is made for. */
  contextLength?: number;
  /** What the model says after a token; it ends its answer after all others. Tokens are as the file spells them. */
  next?: Readonly<Record<string, string>>;
  /** Keys of the head that are left out. */
  without?: readonly string[];
}

/** A blank, and the end of an answer, as the file spells them. */
export const blank = "\u2581";
export const newline = "<0x0A>";
export const end = "</s>";

type Value = number | boolean | string | readonly number[] | readonly string[];
type Key = readonly [name: string, type: number, value: Value];

const [u32, i32, f32, bool, text, list] = [4, 5, 6, 7, 8, 9];

/**
 * Writes a chat model of the llama architecture that fits into a few megabytes and knows no language: each token is a
 * direction of its own, attention does nothing, and the last layer points from each token to the one after it.
 */
export function writeTinyChatModel(path: string, options: TinyChatModelOptions = {}): void {
  const { contextLength = 4096, next = {}, without = [] } = options;
  const tokens = ["<unk>", "<s>", end];
  const types = [2, 3, 3];
  const add = (token: string, type: number): void => {
    if (tokens.includes(token)) return;
    tokens.push(token);
    types.push(type);
  };
  for (let byte = 0; byte < 256; byte += 1) add(`<0x${byte.toString(16).toUpperCase().padStart(2, "0")}>`, 6);
  for (const [token, following] of Object.entries(next)) [token, following].forEach((one) => add(one, 1));
  // One for each token; halves of two heads have to be even.
  const width = Math.ceil(tokens.length / 4) * 4;
  const keys: Key[] = [
    ["general.architecture", text, "llama"],
    ["llama.block_count", u32, 1],
    ["llama.context_length", u32, contextLength],
    ["llama.embedding_length", u32, width],
    ["llama.feed_forward_length", u32, 32],
    ["llama.attention.head_count", u32, 2],
    ["llama.attention.layer_norm_rms_epsilon", f32, 1e-5],
    ["tokenizer.ggml.model", text, "llama"],
    ["tokenizer.ggml.tokens", list, tokens],
    ["tokenizer.ggml.scores", list + f32, tokens.map((_, index) => -index)],
    ["tokenizer.ggml.token_type", list + i32, types],
    ["tokenizer.ggml.bos_token_id", u32, 1],
    ["tokenizer.ggml.eos_token_id", u32, 2],
    ["tokenizer.ggml.unknown_token_id", u32, 0],
    ["tokenizer.ggml.add_bos_token", bool, true],
    ["tokenizer.ggml.add_space_prefix", bool, false],
  ];
  const embedding = new Float32Array(width * tokens.length);
  const output = new Float32Array(width * tokens.length);
  for (const [index, token] of tokens.entries()) {
    embedding[index * width + index] = 1;
    output[tokens.indexOf(next[token] ?? end) * width + index] = 1;
  }
  const ones = new Float32Array(width).fill(1);
  const square = new Float32Array(width * width);
  const flat = new Float32Array(width * 32);
  const tensors: [name: string, shape: number[], data: Float32Array][] = [
    ["token_embd.weight", [width, tokens.length], embedding],
    ["output_norm.weight", [width], ones],
    ["output.weight", [width, tokens.length], output],
    ["blk.0.attn_norm.weight", [width], ones],
    ["blk.0.ffn_norm.weight", [width], ones],
    ...["attn_q", "attn_k", "attn_v", "attn_output"].map((name): [string, number[], Float32Array] => [
      `blk.0.${name}.weight`,
      [width, width],
      square,
    ]),
    ["blk.0.ffn_gate.weight", [width, 32], flat],
    ["blk.0.ffn_up.weight", [width, 32], flat],
    ["blk.0.ffn_down.weight", [32, width], flat],
  ];
  writeFileSync(
    path,
    fileOf(
      keys.filter(([name]) => !without.includes(name)),
      tensors,
    ),
  );
}

function fileOf(keys: readonly Key[], tensors: readonly [string, number[], Float32Array][]): Buffer {
  const parts: Buffer[] = [Buffer.from("GGUF"), number32(3), number64(tensors.length), number64(keys.length)];
  for (const [name, type, value] of keys) {
    parts.push(string(name));
    if (typeof value === "object") parts.push(number32(list), ...itemsOf(type === list ? text : type - list, value));
    else parts.push(number32(type), scalar(type, value));
  }
  let offset = 0;
  for (const [name, shape, data] of tensors) {
    parts.push(string(name), number32(shape.length), ...shape.map(number64), number32(0), number64(offset));
    offset += aligned(data.byteLength);
  }
  const head = Buffer.concat(parts);
  const weights = tensors.map(([, , data]) => padded(Buffer.from(data.buffer)));
  return Buffer.concat([padded(head), ...weights]);
}

function itemsOf(type: number, values: readonly (number | string)[]): Buffer[] {
  return [number32(type), number64(values.length), ...values.map((value) => scalar(type, value))];
}

function scalar(type: number, value: number | boolean | string): Buffer {
  if (typeof value === "string") return string(value);
  if (typeof value === "boolean") return Buffer.from([value ? 1 : 0]);
  const bytes = Buffer.alloc(4);
  if (type === f32) bytes.writeFloatLE(value);
  else bytes.writeInt32LE(value);
  return bytes;
}

function string(value: string): Buffer {
  const bytes = Buffer.from(value);
  return Buffer.concat([number64(bytes.length), bytes]);
}

function number32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(value);
  return bytes;
}

function number64(value: number): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64LE(BigInt(value));
  return bytes;
}

function aligned(length: number): number {
  return Math.ceil(length / 32) * 32;
}

function padded(bytes: Buffer): Buffer {
  return Buffer.concat([bytes, Buffer.alloc(aligned(bytes.length) - bytes.length)]);
}
