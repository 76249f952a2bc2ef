import { type Command, Option } from "commander";
import type { CommandContext } from "../command-context.ts";
import { type Run, examples, option } from "./command-parts.ts";
import type { MemoryIndexCommandOptions } from "../commands/memory/memory-index.ts";
import { sortOrders } from "../results/sort-orders.ts";
import { collect, fraction, wholeNumber } from "../terminal/option-values.ts";
import { UsageError } from "../terminal/usage-error.ts";

type IndexOptions = MemoryIndexCommandOptions & { estimate?: boolean; json?: boolean };

/** What a question may hold beside words. */
const queryHelp = `
In the query, which a shell wants as a whole in single quotes:
  "heat pump"              these words, one behind the other
  -word, -"two words"      without what holds them
  path:recipes/ path:*.md  notes whose path begins so, or fits the pattern; -path: for all others
  tag:home                 notes with this tag, or with one below it (home/garden); -tag: for all others
  source:sessions          one kind of memory; -source: for all others
  after:2024 before:2025   from the beginning of that time on; until it begins
  Filters without a word list the notes that fit, the newest first. What is no filter is words.
`;

/** `memslot memory …`: asking the memory, and looking after its index. */
export function describeMemory(program: Command, run: Run): Command {
  const memory = program.command("memory").description("ask the memory, and look after its index");
  memory
    .command("search")
    .description("find the lines that answer a question; brings the index up to date first")
    .argument("[query...]", "what to look for; - takes it from stdin")
    .option("--query <text>", "the same as an option, for a query that begins with a dash")
    .option(...option.agent)
    .option("-n, --max-results <n>", "at most so many results", wholeNumber(1, 200))
    .option("--max-tokens <n>", "at most so much text in all, in tokens; 1000 if left out", wholeNumber(100, 4000))
    .option("--min-score <x>", "print no result that scores less, 0 to 1, and say how many there were", fraction)
    .option("--source <name>", "search only this source; may be repeated", collect)
    .option("--since <time>", 'only what is of this day or later: 2026-03-05, 2026-03, 2026, "last week"')
    .option("--until <time>", "only what is of this day or earlier")
    .addOption(new Option("--order <order>", "good matches by their days").choices(["relevance", "newest", "oldest"]))
    .option(...option.json)
    .option("--explain", "say what each leg found, what was left out and what the scores mean")
    .option("--why <note>", "say why a note, a line of it (notes/x.md:12) or the text of a line is not found")
    .option("-C, --context <lines>", "show the lines that match, with so many around each", wholeNumber(0, 1000))
    .option("--paths", "print only the paths of the notes, each once")
    .option("-0, --null", "with --paths: a NUL character behind each, for xargs -0")
    .option("--count", "print only how many passages match, and in how many notes")
    .addOption(new Option("--sort <order>", "the order in which they are shown").choices(sortOrders))
    .addHelpText(
      "after",
      examples(
        'memslot memory search "who runs the mail server"',
        "memslot memory search QX-7919 --json --workspace ~/notes",
        "memslot memory search espresso -n 20 --paths -0 | xargs -0 wc -l",
        "git log -1 --format=%s | memslot memory search -",
        "memslot memory search 'tag:recipe soup -beef after:2024'",
      ),
    )
    .addHelpText("after", queryHelp)
    .action(run(async () => (await import("../commands/memory/memory-search.ts")).memorySearch));
  memory
    .command("get")
    .description("print lines of a memory file")
    .argument("<path>", "of the workspace or from here, also as path:12, path:12-20 or path#L3-L9")
    .option(...option.agent)
    .option("--from <n>", "first line, counted from 1", wholeNumber(1, Number.MAX_SAFE_INTEGER))
    .option("--lines <n>", "how many lines", wholeNumber(1, Number.MAX_SAFE_INTEGER))
    .option(...option.json)
    .addHelpText(
      "after",
      examples("memslot memory get memory/2026-03-14.md:3-9", "memslot memory get MEMORY.md --from 40 --lines 20"),
    )
    .action(run(async () => (await import("../commands/memory/memory-get.ts")).memoryGet));
  memory
    .command("index")
    .description("bring the index up to date")
    .option(...option.eachAgent)
    .option("--force", "build it anew from the files; what is there answers until the new one is whole")
    .option("--wait", "wait for another process that is at work on the index (else: exit code 4)")
    .option("--verbose", "say which places were looked at, and name each file")
    .option("--estimate", "print what it would cost in texts, tokens and money, and change nothing")
    .option("--json", "with --estimate: print JSON")
    .addHelpText(
      "after",
      examples("memslot memory index", "memslot memory index --estimate", "memslot memory index --force --wait"),
    )
    .action(
      run(async () => async (context: CommandContext, options: IndexOptions) => {
        if (options.estimate === true)
          return (await import("../commands/memory/memory-estimate.ts")).memoryEstimate(context, options);
        if (options.json === true) throw new UsageError("--json belongs to --estimate here");
        return (await import("../commands/memory/memory-index.ts")).memoryIndex(context, options);
      }),
    );
  memory
    .command("usage")
    .description("say what embedding has cost, in tokens and requests, by day and reason")
    .option(...option.eachAgent)
    .option("--days <n>", "how many days back (default: 30)", wholeNumber(1, 92))
    .option(...option.json)
    .addHelpText("after", examples("memslot memory usage", "memslot memory usage --days 7 --json"))
    .action(run(async () => (await import("../commands/memory/memory-usage.ts")).memoryUsage));
  memory
    .command("status")
    .description("say what is indexed, from where, and what does not work")
    .option(...option.eachAgent)
    .option("--deep", "compare the parts of the index, try the embedding provider and the vector store for real")
    .option("--fix", "mend what is wrong with the index, from what it holds; implies --deep")
    .option("--index", "bring the index up to date first; implies --deep")
    .option(...option.json)
    .addHelpText("after", examples("memslot memory status", "memslot memory status --deep --json"))
    .action(run(async () => (await import("../commands/memory/memory-status.ts")).memoryStatus));
  memory
    .command("compact")
    .description("give back the space that deleted and changed notes have left in the index")
    .option(...option.eachAgent)
    .option(...option.json)
    .addHelpText("after", examples("memslot memory compact", "memslot memory compact --agent main --json"))
    .action(run(async () => (await import("../commands/memory/memory-compact.ts")).memoryCompact));
  return memory;
}
