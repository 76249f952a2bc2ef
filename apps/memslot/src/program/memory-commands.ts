import { type Command, Option } from "commander";
import type { CommandContext } from "../command-context.ts";
import { type Run, examples, option } from "./command-parts.ts";
import type { MemoryIndexCommandOptions } from "../commands/memory/memory-index.ts";
import { sortOrders } from "../results/sort-orders.ts";
import { collect, fraction, wholeNumber } from "../terminal/option-values.ts";
import { UsageError } from "../terminal/usage-error.ts";

type IndexOptions = MemoryIndexCommandOptions & { estimate?: boolean; json?: boolean };

/** The filters of a query. */
const queryHelp = `
Query syntax (quote the whole query for the shell):
  "heat pump"              exact phrase
  -word, -"two words"      exclude passages with these words
  path:recipes/ path:*.md  notes by path prefix or pattern; -path: excludes them
  tag:home                 notes with this tag or one below it (home/garden); -tag: excludes them
  source:sessions          one source; -source: excludes it
  after:2024 before:2025   from the start of that time; until its start
  A query of filters only lists the matching notes, newest first. Everything else is searched as words.
`;

/** `memslot memory …`: search the memory and maintain its index. */
export function describeMemory(program: Command, run: Run): Command {
  const memory = program.command("memory").description("search the memory and maintain its index");
  memory
    .command("search")
    .description("search the notes; updates the index first")
    .argument("[query...]", "the query; - reads it from stdin")
    .option("--query <text>", "the query as an option, for one that begins with a dash")
    .option(...option.agent)
    .option("-n, --max-results <n>", "maximum number of results", wholeNumber(1, 200))
    .option("--max-tokens <n>", "token budget for all results (default: 1000)", wholeNumber(100, 4000))
    .option("--min-score <x>", "exclude results below this score, 0 to 1, and report how many", fraction)
    .option("--source <name>", "search only this source; can be repeated", collect)
    .option("--since <time>", 'only notes from this date or later: 2026-03-05, 2026-03, 2026, "last week"')
    .option("--until <time>", "only notes from this date or earlier")
    .addOption(
      new Option("--order <order>", "order good matches by relevance or date").choices([
        "relevance",
        "newest",
        "oldest",
      ]),
    )
    .option(...option.json)
    .option("--explain", "explain the results: what each retriever found, what was excluded, how scores are made")
    .option("--why <note>", "explain why a note, a line (notes/x.md:12) or the text of a line is not among the results")
    .option("-C, --context <lines>", "show matching lines with this many lines of context", wholeNumber(0, 1000))
    .option("--paths", "print only the paths of matching notes")
    .option("-0, --null", "with --paths: end each path with NUL, for xargs -0")
    .option("--count", "print only the number of matching passages and notes")
    .addOption(new Option("--sort <order>", "order of the output").choices(sortOrders))
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
    .argument("<path>", "path in the workspace or from the current folder; also path:12, path:12-20 or path#L3-L9")
    .option(...option.agent)
    .option("--from <n>", "first line, starting at 1", wholeNumber(1, Number.MAX_SAFE_INTEGER))
    .option("--lines <n>", "number of lines", wholeNumber(1, Number.MAX_SAFE_INTEGER))
    .option(...option.json)
    .addHelpText(
      "after",
      examples("memslot memory get memory/2026-03-14.md:3-9", "memslot memory get MEMORY.md --from 40 --lines 20"),
    )
    .action(run(async () => (await import("../commands/memory/memory-get.ts")).memoryGet));
  memory
    .command("index")
    .description("update the index")
    .option(...option.eachAgent)
    .option("--force", "rebuild the index from the files; the old index answers until the new one is complete")
    .option("--wait", "wait for another process that is writing to the index (default: exit with code 4)")
    .option("--verbose", "print the scanned folders and each file")
    .option("--estimate", "print the cost in texts, tokens and money without indexing")
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
    .description("print the tokens and requests that embedding used, by day and reason")
    .option(...option.eachAgent)
    .option("--days <n>", "number of days (default: 30)", wholeNumber(1, 92))
    .option(...option.json)
    .addHelpText("after", examples("memslot memory usage", "memslot memory usage --days 7 --json"))
    .action(run(async () => (await import("../commands/memory/memory-usage.ts")).memoryUsage));
  memory
    .command("status")
    .description("print what is indexed, from where, and what fails")
    .option(...option.eachAgent)
    .option("--deep", "check the index, and test the embedding provider and the vector store with a request")
    .option("--fix", "repair the index from its own data; implies --deep")
    .option("--index", "update the index first; implies --deep")
    .option(...option.json)
    .addHelpText("after", examples("memslot memory status", "memslot memory status --deep --json"))
    .action(run(async () => (await import("../commands/memory/memory-status.ts")).memoryStatus));
  memory
    .command("compact")
    .description("free the disk space that deleted and changed notes used in the index")
    .option(...option.eachAgent)
    .option(...option.json)
    .addHelpText("after", examples("memslot memory compact", "memslot memory compact --agent main --json"))
    .action(run(async () => (await import("../commands/memory/memory-compact.ts")).memoryCompact));
  return memory;
}
