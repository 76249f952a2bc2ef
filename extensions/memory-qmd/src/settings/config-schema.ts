type Schema = Readonly<Record<string, unknown>>;

const text = (description: string): Schema => ({ type: "string", description });
const flag = (description: string): Schema => ({ type: "boolean", description });
const count = (description: string, minimum: number): Schema => ({ type: "integer", minimum, description });
const duration = (description: string): Schema => ({
  type: ["string", "number"],
  minimum: 0,
  pattern: String.raw`^\s*(?:0|[oO][fF][fF]|(?:\d+(?:\.\d+)?(?:[mM][sS]|[sSmMhHdD]))+)\s*$`,
  examples: ["5m", "90s", "1h30m", "0"],
  description,
});
const choice = (values: readonly string[], description: string): Schema => ({ enum: values, description });
const object = (properties: Readonly<Record<string, Schema>>, required: readonly string[] = []): Schema => ({
  type: "object",
  properties,
  ...(required.length > 0 && { required }),
  additionalProperties: false,
});

const match = object({
  channel: text("the channel of the session, such as `telegram`"),
  chatType: choice(["direct", "group", "channel"], "what kind of chat it is"),
  keyPrefix: text("what the session key begins with, without `agent:<id>:`"),
  rawKeyPrefix: text("what the whole session key begins with"),
});

/** The JSON Schema of `memory.qmd`. `pnpm generate` writes it into `memslot.plugin.json`. */
export const configSchema: Readonly<Record<string, unknown>> = object({
  command: text("the command of qmd, or the path of it; `qmd` where nothing is written"),
  searchMode: choice(
    ["search", "vsearch", "query"],
    "`search` finds by words; `vsearch` and `query` find by meaning too, with models that are on this machine already",
  ),
  rerank: flag("with `vsearch` or `query`: let a model read the best ten notes and sort them; slow without a GPU"),
  includeDefaultMemory: flag(
    "whether MEMORY.md, USER.md and memory/, or a folder of notes, are searched; true where nothing is written",
  ),
  paths: {
    type: "array",
    description: "more files and folders with notes, as `memorySearch.extraPaths`",
    items: object(
      {
        path: text("a file or folder, absolute or relative to the workspace"),
        name: text("the name of its collection in qmd"),
        pattern: text("a glob inside of it; every Markdown file where nothing is written"),
      },
      ["path"],
    ),
  },
  sessions: object({
    enabled: flag("whether transcripts are searched"),
    exportDir: {
      ...text("where they are kept as Markdown for qmd; a folder of the state where nothing is written"),
      pattern: "^[^~]",
      examples: ["/home/me/transcripts"],
    },
    retentionDays: count("transcripts that are older than this are left out", 1),
  }),
  update: object({
    interval: duration("how often qmd looks at all notes; 5m, 0 for never"),
    debounceMs: count("how long after a change qmd is told of it; 15000", 0),
    onBoot: flag("whether qmd is told at once what has changed while memory was closed; true"),
    waitForBootSync: flag("whether opening waits for that; false"),
    embedInterval: duration("how often qmd makes vectors of new notes, where it searches by meaning; 60m, 0 for never"),
    commandTimeoutMs: count("how long a start of qmd may take that is no search, update or embed; 5000", 1),
    updateTimeoutMs: count("how long an update may take; 30 s and 10 ms for each note where nothing is written", 1),
    embedTimeoutMs: count("how long qmd may make vectors at one time; 120000", 1),
  }),
  limits: object({
    maxResults: count("results of one search at most", 1),
    maxSnippetChars: count("characters of one snippet at most; 700", 40),
    maxInjectedChars: count("characters of all snippets of one search at most", 40),
    timeoutMs: count("how long qmd may take to answer; 2000, with models 8000", 1),
  }),
  scope: object({
    default: choice(["allow", "deny"], "what holds where no rule fits; deny"),
    rules: {
      type: "array",
      description: "the first that fits decides",
      items: object({ action: choice(["allow", "deny"], "what it decides"), match }, ["action"]),
    },
  }),
  mcporter: {
    type: "object",
    description: "accepted and not needed: qmd is started and kept by this plugin itself",
  },
  fallback: {
    type: "string",
    default: "builtin",
    description:
      "what answers while qmd does not: `builtin` (memory-core), `keyword` (memory-core without any embedding request), the id of another memory plugin, or `none`",
  },
});
