export { type GgufTensor, type GgufValue, ggufBytes } from "./gguf-bytes.ts";
export { type TinyGgufOptions, writeTinyGguf } from "./tiny-gguf.ts";
