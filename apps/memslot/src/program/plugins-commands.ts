import type { Command } from "commander";
import { type Run, examples, option } from "./command-parts.ts";

/** `memslot plugins …`: memory backends and embedding providers. */
export function describePlugins(program: Command, run: Run): Command {
  const plugins = program
    .command("plugins")
    .description("list, choose and install memory backends and embedding providers");
  plugins
    .command("list")
    .description("list installed plugins with their state, and plugins that can be added")
    .option(...option.json)
    .addHelpText("after", examples("memslot plugins list", "memslot plugins list --json"))
    .action(run(async () => (await import("../commands/plugins/plugins-list.ts")).pluginsList));
  plugins
    .command("info")
    .description("show the features and options of a plugin, and how to select it")
    .argument("<id>", "the id of the plugin, or the name of its package")
    .option(...option.json)
    .addHelpText("after", examples("memslot plugins info memory-core", "memslot plugins info memory-qmd --json"))
    .action(run(async () => (await import("../commands/plugins/plugins-info.ts")).pluginsInfo));
  plugins
    .command("use")
    .description("select the memory plugin and show what changes; none disables memory")
    .argument("<id>", "the id of the plugin, or none")
    .option(...option.json)
    .addHelpText("after", examples("memslot plugins use memory-lancedb", "memslot plugins use none"))
    .action(run(async () => (await import("../commands/plugins/plugins-use.ts")).pluginsUse));
  plugins
    .command("add")
    .description("install a plugin into the state folder with npm, without running its install scripts")
    .argument("<plugin>", "an id, a package (name or name@version), a tarball or a folder")
    .option("--print", "print the npm command without running it")
    .option(...option.json)
    .addHelpText("after", examples("memslot plugins add memory-lancedb", "memslot plugins add plugins/mine --print"))
    .action(run(async () => (await import("../commands/plugins/plugins-add.ts")).pluginsAdd));
  plugins
    .command("remove")
    .description("remove an installed plugin; keeps its index")
    .argument("<id>", "the id of the plugin, or the name of its package")
    .option(...option.json)
    .addHelpText("after", examples("memslot plugins remove memory-lancedb"))
    .action(run(async () => (await import("../commands/plugins/plugins-remove.ts")).pluginsRemove));
  plugins
    .command("new")
    .description("create a working memory plugin with tests, to start from")
    .argument("<name>", "package name, such as memory-mine or @me/memory-mine")
    .option("--dir <dir>", "target folder (default: a folder with this name)")
    .option(...option.json)
    .addHelpText("after", examples("memslot plugins new memory-mine", "memslot plugins new @me/memory-mine --dir ."))
    .action(run(async () => (await import("../commands/plugins/plugins-new.ts")).pluginsNew));
  return plugins;
}

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
