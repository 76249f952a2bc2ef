import { writeFileSync } from "node:fs";
import { type GgufTensor, type GgufValue, ggufBytes } from "@memslot/fakes/gguf";

export interface TinyChatModelOptions {
  /** Context length of the model, in tokens. */
  contextLength?: number;
  /** What the model says after a token; it ends its answer after all others. Tokens are spelled as in the file. */
  next?: Readonly<Record<string, string>>;
  /** Keys of the header that are left out. */
  without?: readonly string[];
}

/** A blank and a line end, as the file spells them. */
export const blank = "\u2581";
export const newline = "<0x0A>";
const end = "</s>";

/**
 * Writes a chat model of the llama architecture of a few megabytes that knows no language: each token is a direction of
 * its own, attention does nothing, and the last layer points from each token to the one after it.
 */
export function writeTinyChatModel(path: string, options: TinyChatModelOptions = {}): void {
  const { contextLength = 4096, next = {}, without = [] } = options;
  const bytes = Array.from({ length: 256 }, (_, byte) => `<0x${byte.toString(16).toUpperCase().padStart(2, "0")}>`);
  const words = Object.entries(next).flat();
  const tokens = [...new Set(["<unk>", "<s>", end, ...bytes, ...words])];
  const kinds = tokens.map((token, index) => (index < 3 ? [2, 3, 3][index] : bytes.includes(token) ? 6 : 1) ?? 1);
  // One direction for each token; halves of two heads have to be even.
  const width = Math.ceil(tokens.length / 4) * 4;
  const u32 = (value: number): GgufValue => ({ type: "u32", value });
  const keys: Record<string, GgufValue> = {
    "general.architecture": { type: "string", value: "llama" },
    "llama.block_count": u32(1),
    "llama.context_length": u32(contextLength),
    "llama.embedding_length": u32(width),
    "llama.feed_forward_length": u32(32),
    "llama.attention.head_count": u32(2),
    "llama.attention.layer_norm_rms_epsilon": { type: "f32", value: 1e-5 },
    "tokenizer.ggml.model": { type: "string", value: "llama" },
    "tokenizer.ggml.tokens": { type: "strings", value: tokens },
    "tokenizer.ggml.token_type": { type: "i32s", value: kinds },
    "tokenizer.ggml.bos_token_id": u32(1),
    "tokenizer.ggml.eos_token_id": u32(2),
    "tokenizer.ggml.unknown_token_id": u32(0),
    "tokenizer.ggml.add_bos_token": { type: "bool", value: true },
    "tokenizer.ggml.add_space_prefix": { type: "bool", value: false },
  };
  for (const key of without) delete keys[key];
  const embedding = new Float32Array(width * tokens.length);
  const output = new Float32Array(width * tokens.length);
  for (const [index, token] of tokens.entries()) {
    embedding[index * width + index] = 1;
    output[tokens.indexOf(next[token] ?? end) * width + index] = 1;
  }
  const tensor = (name: string, dimensions: number[], data?: Float32Array): GgufTensor => ({
    name: `${name}.weight`,
    dimensions,
    data: data ?? new Float32Array(dimensions.reduce((product, size) => product * size, 1)),
  });
  const norm = (name: string): GgufTensor => tensor(name, [width], new Float32Array(width).fill(1));
  const tensors = [
    tensor("token_embd", [width, tokens.length], embedding),
    norm("output_norm"),
    tensor("output", [width, tokens.length], output),
    norm("blk.0.attn_norm"),
    norm("blk.0.ffn_norm"),
    ...["q", "k", "v", "output"].map((name) => tensor(`blk.0.attn_${name}`, [width, width])),
    tensor("blk.0.ffn_gate", [width, 32]),
    tensor("blk.0.ffn_up", [width, 32]),
    tensor("blk.0.ffn_down", [32, width]),
  ];
  writeFileSync(path, ggufBytes(keys, tensors));
}
