import type { Command } from "commander";
import { type Run, examples, option } from "./command-parts.ts";

/** `memslot plugins …`: what can fill the memory slot and make vectors. */
export function describePlugins(program: Command, run: Run): Command {
  const plugins = program.command("plugins").description("see, choose and add what keeps the index and makes vectors");
  plugins
    .command("list")
    .description("print every plugin that is known, what it is doing, and those that could be added")
    .option(...option.json)
    .addHelpText("after", examples("memslot plugins list", "memslot plugins list --json"))
    .action(run(async () => (await import("../commands/plugins/plugins-list.ts")).pluginsList));
  plugins
    .command("info")
    .description("say what a plugin can do, which options it takes, and how it is chosen")
    .argument("<id>", "the id of the plugin, or the name of its package")
    .option(...option.json)
    .addHelpText("after", examples("memslot plugins info memory-core", "memslot plugins info memory-qmd --json"))
    .action(run(async () => (await import("../commands/plugins/plugins-info.ts")).pluginsInfo));
  plugins
    .command("use")
    .description("put a memory plugin into the slot, and say what is gained and lost; none turns memory off")
    .argument("<id>", "the id of the plugin, or none")
    .option(...option.json)
    .addHelpText("after", examples("memslot plugins use memory-lancedb", "memslot plugins use none"))
    .action(run(async () => (await import("../commands/plugins/plugins-use.ts")).pluginsUse));
  plugins
    .command("add")
    .description("install a plugin into the state folder with npm; no install script of it is run")
    .argument("<plugin>", "an id, the name of a package (also name@version), a tarball or a folder")
    .option("--print", "print the command, and do nothing")
    .option(...option.json)
    .addHelpText("after", examples("memslot plugins add memory-lancedb", "memslot plugins add plugins/mine --print"))
    .action(run(async () => (await import("../commands/plugins/plugins-add.ts")).pluginsAdd));
  plugins
    .command("remove")
    .description("take a plugin away that was added; the index that it has made stays")
    .argument("<id>", "the id of the plugin, or the name of its package")
    .option(...option.json)
    .addHelpText("after", examples("memslot plugins remove memory-lancedb"))
    .action(run(async () => (await import("../commands/plugins/plugins-remove.ts")).pluginsRemove));
  plugins
    .command("new")
    .description("write a memory plugin of your own that works and is tested, to start from")
    .argument("<name>", "the name of its package, as memory-mine or @me/memory-mine")
    .option("--dir <dir>", "where to (default: a folder of this name)")
    .option(...option.json)
    .addHelpText("after", examples("memslot plugins new memory-mine", "memslot plugins new @me/memory-mine --dir ."))
    .action(run(async () => (await import("../commands/plugins/plugins-new.ts")).pluginsNew));
  return plugins;
}
