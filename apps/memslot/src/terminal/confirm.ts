import type { CommandContext } from "../command-context.ts";

/** Asks for confirmation on stderr. Enter means `usual`; the end of the input means no. */
export async function confirm(
  { output, signal, stdin }: CommandContext,
  question: string,
  { usual = "yes" }: { usual?: "yes" | "no" } = {},
): Promise<boolean> {
  const { createInterface } = await import("node:readline/promises");
  // No line editing, so that Ctrl-C reaches the process as a signal.
  const prompt = createInterface({ input: stdin, output: output.stderr, terminal: false });
  try {
    const ended = new Promise<string>((resolve) => prompt.once("close", () => resolve("no")));
    const choice = usual === "yes" ? "[Y/n]" : "[y/N]";
    const answer = await Promise.race([prompt.question(`${question} ${choice} `, { signal }), ended]);
    return /^\s*y(?:es)?\s*$/iu.test(answer) || (usual === "yes" && answer.trim() === "");
  } finally {
    prompt.close();
  }
}
