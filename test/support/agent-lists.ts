import { type Agent, agents } from "@memslot/indexing/host";
import real from "../clients/real/programs.json" with { type: "json" };

/** The file `client-ids.ts` of core: the agents, and where they keep conversations. */
export function clientIdsFile(): string {
  const folders = agents.flatMap(({ id, conversations }) => {
    const key = /^\w+$/u.test(id) ? id : `"${id}"`;
    return conversations === undefined ? [] : `  ${key}: [${conversations.folders.map(quoted).join(", ")}],\n`;
  });
  return `// Made of packages/indexing/src/agents by \`pnpm generate\`.

/** The agents that memslot connects to. */
export const clientIds = [
${agents.map(({ id }) => `  "${id}",\n`).join("")}] as const;

export type ClientId = (typeof clientIds)[number];

/** The folders of agents that keep conversations, in the form of \`Conversations.folders\` there. */
export const clientFolderPatterns = {
${folders.join("")}} as const;
`;
}

const quoted = (text: string): string => JSON.stringify(text);

/** Words of the lists, by language. */
const words = {
  en: {
    server: "MCP server",
    hooks: "hooks",
    startHooks: "hooks for the start of a session",
    instructions: (file: string) => `instructions in ${file}`,
    colon: ": ",
    comma: ", ",
  },
  zh: {
    server: "MCP 服务器",
    hooks: "钩子",
    startHooks: "会话开始时的钩子",
    instructions: (file: string) => `${file} 里的说明`,
    colon: "：",
    comma: "、",
  },
};

const command = ({ id }: Agent): string => `memslot connect ${id} --workspace ~/notes`;
/** The path of a file for all projects, without the folder: of several the last. */
const userPath = ({ files }: Agent, what: string): string | undefined =>
  [files.findLast((file) => file.what === what)?.user ?? []].flat().at(-1);

/** README: one line for each agent. */
function agentList(language: "en" | "zh"): string {
  const { server, hooks, startHooks, instructions, colon, comma } = words[language];
  const lines = agents.map((agent) => {
    const file = userPath(agent, "instructions")?.split("/").at(-1);
    const parts = [
      server,
      ...(agent.hooks === undefined ? [] : [agent.hooks.answers.prompt === undefined ? startHooks : hooks]),
      ...(file === undefined ? [] : [instructions(`\`${file}\``)]),
    ];
    return `- **${agent.name}** (\`${agent.id}\`)${colon}${parts.join(comma)}`;
  });
  return lines.join("\n");
}

/** docs/connect.md: the command of each agent, and its files. */
function agentSections(): string {
  const sections = agents.map((agent) => {
    const byPath = Map.groupBy(
      (["server", "hooks", "instructions"] as const).filter((what) => userPath(agent, what) !== undefined),
      (what) => userPath(agent, what) ?? "",
    );
    const files = [...byPath].map(
      ([file, kinds]) =>
        `${kinds.map((kind) => (kind === "server" ? "MCP server" : kind)).join(" and ")} in ${usual(file)}`,
    );
    const { always, hooks } = agent.notes ?? {};
    const notes = [`${files.join(", ")}.`, always, hooks, agent.about].filter((each) => each !== undefined);
    return `- **${agent.name}**, \`${command(agent)}\`: ${notes.join(" ")}`;
  });
  return sections.join("\n");
}

/** docs/connect.md: what the hooks of each agent do. */
function hookTable(): string {
  const yes = (is: boolean): string => (is ? "yes" : "no");
  const rows = agents.flatMap(({ name, hooks, conversations }) => {
    if (hooks === undefined) return [];
    const { start, prompt } = hooks.answers;
    const isStored = conversations?.said !== undefined || hooks.stored !== undefined;
    return [[name, yes((start ?? prompt) !== undefined), yes(prompt !== undefined), yes(isStored)]];
  });
  return table(
    ["agent", "notes at the start", "notes at a prompt", "messages are stored"],
    [...rows, ["the others", "no", "no", "no"]],
  );
}

/** docs/connect.md: which variables reach the server and the hooks. */
function variableTable(): string {
  const rows = agents.flatMap(({ name, environment }) => {
    if (environment === undefined) return [];
    const { server, hooks, shell } = environment;
    return [[name, server, hooks, `\`${shell}\``]];
  });
  return table(
    ["agent", "the server gets", "hooks get", "its shells have"],
    [...rows, ["the others", "not measured: perhaps all", "not measured: perhaps all", ""]],
  );
}

/** docs/sources.md: where each agent keeps what. */
function sourceTable(): string {
  const rows = agents.flatMap(({ id, conversations }) => {
    if (conversations === undefined) return [];
    const folders = conversations.folders.map((folder) => {
      const [named, ...others] = folder.split("|").toReversed();
      return [usual(named ?? ""), ...others.map((other) => `or \`${other}\``)].join(" ");
    });
    return [[`\`${id}\``, folders.join("; "), ...conversations.layout]];
  });
  return table(["", "folder", "conversations", "notes"], rows);
}

/** A path as it is without environment variables. */
function usual(pattern: string): string {
  const file = pattern.split("|").at(-1)?.replace("@dotconfig", "~/.config") ?? "";
  return file.startsWith("@config/") ? `\`${file.slice(8)}\` in the settings folder of the system` : `\`${file}\``;
}

function table(head: readonly string[], rows: readonly string[][]): string {
  return [head, head.map(() => "---"), ...rows].map((cells) => `| ${cells.join(" | ")} |`).join("\n");
}

/** The pages with lists of agents, each list between two marks with its name. */
export const agentPages: Readonly<Record<string, Readonly<Record<string, () => string>>>> = {
  "README.md": { agents: () => agentList("en") },
  "README.zh-CN.md": { agents: () => agentList("zh") },
  "docs/connect.md": { agents: agentSections, hooks: hookTable, variables: variableTable },
  "docs/sources.md": { sources: sourceTable },
};

/** A page with its lists of agents rewritten. */
export function withAgentLists(page: string, text: string): string {
  let result = text;
  for (const [name, made] of Object.entries(agentPages[page] ?? {})) {
    const [start, end] = [`<!-- ${name}:start -->`, `<!-- ${name}:end -->`];
    const [from, to] = [result.indexOf(start), result.indexOf(end)];
    if (from < 0 || to < from) throw new Error(`${page} needs the marks ${start} and ${end}`);
    result = `${result.slice(0, from + start.length)}\n\n${made()}\n\n${result.slice(to)}`;
  }
  return result;
}

/** docs/clients.md: what the long suite proves with the programs themselves. */
export function clientsPage(): string {
  const { steps, programs, elsewhere } = real;
  const rows = Object.entries(steps).map(([step, says]) => [
    says,
    ...programs.map(({ not }) => (step in not ? "no" : "yes")),
  ]);
  const names = programs.map(({ name, version }) => `${name} ${version}`);
  const reasons = programs.flatMap(({ name, not }) =>
    Object.entries(not as Record<string, string>).map(([step, reason]) => `- ${name}, ${step}: ${reason}.`),
  );
  const others = elsewhere.flatMap(({ name, versions, test, steps: own }) => {
    const rowsOf = own.map(({ says, not = {} }) => [says, ...versions.map((each) => (each in not ? "no" : "yes"))]);
    const left = own.flatMap(({ says, not = {} }) =>
      Object.entries(not).map(([version, reason]) => `- ${says}: not in ${version}, as ${reason}.`),
    );
    return [`${name}, which memslot joins as a plugin, has its own tests (\`${test}\`):`].concat(
      table(["", ...versions.map((version) => `${name} ${version}`)], rowsOf),
      left.join("\n"),
    );
  });
  const untried = agents.flatMap(({ id, name }) => (programs.some((row) => row.id === id) ? [] : name));
  return `# Programs that the tests drive

\`npm run test:long\` installs these programs from npm at these versions and runs them without a terminal. A scripted model on
this machine answers them. The tests read what that model was sent, the journal, the daily log and the files.

${table(["", ...names], rows)}

${reasons.length > 0 ? `Not proved:\n\n${reasons.join("\n")}\n\n` : ""}${others.join("\n\n")}

These tests do not run ${untried.join(", ")}: for them memslot follows their documentation.

Other versions may behave differently. [Connect](connect.md) lists what \`memslot connect\` writes for each program;
[testing](testing.md) says how to run these tests without a network.
`;
}
