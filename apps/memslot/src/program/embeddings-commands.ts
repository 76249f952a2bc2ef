import type { Command } from "commander";
import { type Run, examples, option } from "./command-parts.ts";

/** `memslot embeddings …`: search by meaning with a model on this machine. */
export function describeEmbeddings(program: Command, run: Run): Command {
  const embeddings = program
    .command("embeddings")
    .description("turn vector search with a model on this machine on or off, and show its status");
  embeddings
    .command("on")
    .description(
      "install the provider, download the model, embed the notes and enable vector search; asks for confirmation once and can be resumed",
    )
    .argument(
      "[model]",
      "embeddinggemma-300m (the default), bge-m3, a .gguf file, hf:user/repository/file.gguf or an https address",
    )
    .option("--yes", "do not ask for confirmation")
    .option("--try <question>", "question to compare keyword and vector search with (default: chosen from your notes)")
    .option(...option.json)
    .addHelpText(
      "after",
      examples("memslot embeddings on", 'memslot embeddings on bge-m3 --yes --try "how do we heat the house"'),
    )
    .action(run(async () => (await import("../commands/embeddings/embeddings-on.ts")).embeddingsOn));
  embeddings
    .command("off")
    .description("disable vector search; keeps the model and the vectors, and prints where they are")
    .option(...option.json)
    .addHelpText("after", examples("memslot embeddings off"))
    .action(run(async () => (await import("../commands/embeddings/embeddings-off.ts")).embeddingsOff));
  embeddings
    .command("status")
    .description("show the model, its location, how many passages are embedded, and the last failure")
    .option(...option.json)
    .addHelpText("after", examples("memslot embeddings status", "memslot embeddings status --json"))
    .action(run(async () => (await import("../commands/embeddings/embeddings-status.ts")).embeddingsStatus));
  return embeddings;
}
