import type { Command } from "commander";
import { type Run, examples, option } from "./command-parts.ts";

/** `memslot embeddings …`: search by meaning with a model on this machine. */
export function describeEmbeddings(program: Command, run: Run): Command {
  const embeddings = program
    .command("embeddings")
    .description("search by meaning with a model on this machine: switch it on and off, and see how it stands");
  embeddings
    .command("on")
    .description(
      "install what is needed, fetch the model, index, and search by meaning from then on; asks once. Run again, it goes on where it was stopped",
    )
    .argument(
      "[model]",
      "embeddinggemma-300m (the default), bge-m3, a .gguf file, hf:user/repository/file.gguf or an https address",
    )
    .option("--yes", "ask nothing")
    .option("--try <question>", "what to ask by words and by meaning, to compare (default: a line of your notes)")
    .option(...option.json)
    .addHelpText(
      "after",
      examples("memslot embeddings on", 'memslot embeddings on bge-m3 --yes --try "how do we heat the house"'),
    )
    .action(run(async () => (await import("../commands/embeddings/embeddings-on.ts")).embeddingsOn));
  embeddings
    .command("off")
    .description("search by words alone from now on; model and vectors stay for the way back, and it says where")
    .option(...option.json)
    .addHelpText("after", examples("memslot embeddings off"))
    .action(run(async () => (await import("../commands/embeddings/embeddings-off.ts")).embeddingsOff));
  embeddings
    .command("status")
    .description("say which model is in use, where it lies, how many vectors are made, and what failed last")
    .option(...option.json)
    .addHelpText("after", examples("memslot embeddings status", "memslot embeddings status --json"))
    .action(run(async () => (await import("../commands/embeddings/embeddings-status.ts")).embeddingsStatus));
  return embeddings;
}
