import { readFileSync } from "node:fs";
import path from "node:path";
import wabt from "wabt";
import { root } from "./pack-all.ts";

const source = "extensions/memory-core/src/vectors/kernel/kernel.wat";
/** SIMD, and memory that threads share. */
const features = { simd: true, threads: true };
const perLine = 100;

/** The file `kernel-bytes.ts`: the bytes that `kernel.wat` comes to. */
export async function vectorKernel(): Promise<string> {
  const { parseWat } = await wabt();
  const module = parseWat(path.basename(source), readFileSync(path.join(root, source), "utf8"), features);
  try {
    module.resolveNames();
    const text = Buffer.from(module.toBinary({}).buffer).toString("base64");
    const lines = text.match(new RegExp(`.{1,${perLine}}`, "gu")) ?? [];
    return `// Made of kernel.wat by \`pnpm generate\`.
export const kernelBytes: readonly string[] = [
${lines.map((line) => `  "${line}",`).join("\n")}
];
`;
  } finally {
    module.destroy();
  }
}
