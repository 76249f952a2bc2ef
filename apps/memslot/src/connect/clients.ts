import { existsSync } from "node:fs";
import path from "node:path";
import { appConfigDir } from "@memslot/core";
import type { Client, ClientFile, ClientId, ClientPlace } from "./client.ts";
import { type JsonPut, jsonEdit } from "./edits/json-edit.ts";
import { markdownMarkers, markedBlock, wholeFile } from "./edits/marked-block.ts";
import type { TextEdit } from "./edits/text-form.ts";
import { tomlEdit } from "./edits/toml-edit.ts";
import { opencodePlugin, pluginMark } from "./opencode-plugin.ts";
import { isOwnHook, isOwnServer } from "./own-handler.ts";

// One object for each agent: what it is called, how it is found, which files are edited and what its user has to know.

const isProject = ({ scope }: ClientPlace): boolean => scope === "project";
/** A path in the project, or with the user scope in a folder of the client. */
const at = (place: ClientPlace, inProject: string, folder: string, name: string): string =>
  isProject(place) ? path.join(place.projectDir, inProject) : path.join(folder, name);
const claudeDir = ({ env, home }: ClientPlace): string => env["CLAUDE_CONFIG_DIR"] || path.join(home, ".claude");
const claudeState = ({ env, home }: ClientPlace): string => path.join(env["CLAUDE_CONFIG_DIR"] || home, ".claude.json");
const codexDir = ({ env, home }: ClientPlace): string => env["CODEX_HOME"] || path.join(home, ".codex");
const vscodeDir = (place: ClientPlace): string => path.join(appConfigDir(place), "Code", "User");
const opencodeDir = ({ env, home }: ClientPlace): string =>
  path.join(env["XDG_CONFIG_HOME"] || path.join(home, ".config"), "opencode");

function zedDir({ env, home, platform }: ClientPlace): string {
  if (platform === "win32") return path.join(env["APPDATA"] || path.join(home, "AppData", "Roaming"), "Zed");
  const config = platform === "darwin" ? undefined : env["XDG_CONFIG_HOME"];
  return path.join(config || path.join(home, ".config"), "zed");
}

/** The entry of the server in a JSON file. */
function serverIn(file: string, group: string, value: object, hooks: readonly JsonPut[] = []): ClientFile {
  const entry = { path: [group, "memslot"], value, isOwn: isOwnServer };
  return { path: file, what: "server", edit: jsonEdit([entry, ...hooks]) };
}

/** The file of the hooks; none where no hook is wanted. */
function hooksIn(file: string, hook: string | undefined, edit: (hook: string) => TextEdit): ClientFile[] {
  return hook === undefined ? [] : [{ path: file, what: "hooks", edit: edit(hook) }];
}

function linesIn(file: string, lines: readonly string[]): ClientFile {
  return { path: file, what: "instructions", edit: markedBlock(lines, markdownMarkers) };
}

/** Hooks in the shape that Claude Code began with: groups of handlers by event, with the time that each may take. */
function hookGroups(events: Readonly<Record<string, number>>, command: string, more: object = {}): JsonPut[] {
  return Object.entries(events).map(([event, timeout]) => ({
    list: ["hooks", event],
    item: { hooks: [{ ...more, type: "command", command, timeout }] },
    isOwn: isOwnHook,
  }));
}

/** Hooks as lists of handlers by event. */
function hookHandlers(events: readonly string[], handler: object): JsonPut[] {
  return events.map((event) => ({ list: ["hooks", event], item: handler, isOwn: isOwnHook }));
}

/** Seconds. */
const claudeEvents = { SessionStart: 10, UserPromptSubmit: 10, PreCompact: 10, Stop: 10, SessionEnd: 10 };
const geminiEvents = ["SessionStart", "BeforeAgent", "PreCompress", "AfterAgent", "SessionEnd"];

export const allClients: readonly Client[] = [
  {
    id: "claude-code",
    name: "Claude Code",
    scopes: ["user", "project"],
    programs: ["claude"],
    signs: (place) => [claudeDir(place), claudeState(place)],
    files: (place, { server, hook, instructions }) => [
      serverIn(
        isProject(place) ? path.join(place.projectDir, ".mcp.json") : claudeState(place),
        "mcpServers",
        // Else it keeps the tools from the model until that one searches for them.
        { type: "stdio", ...server, alwaysLoad: true },
      ),
      ...hooksIn(at(place, ".claude/settings.local.json", claudeDir(place), "settings.json"), hook, (line) =>
        jsonEdit(hookGroups(claudeEvents, line)),
      ),
      linesIn(at(place, "CLAUDE.md", claudeDir(place), "CLAUDE.md"), instructions),
    ],
    notes: (place) => [
      "Restart Claude Code; with --bare it runs neither hooks nor MCP servers.",
      ...(isProject(place) ? ["Claude Code asks once whether it may start the server that .mcp.json names."] : []),
    ],
  },
  {
    id: "codex",
    name: "Codex",
    scopes: ["user", "project"],
    programs: ["codex"],
    signs: (place) => [codexDir(place)],
    files(place, { server: { command, args, env }, keys, hook, instructions }) {
      // It hands on the variables that are named.
      const named = { ...(Object.keys(env).length > 0 && { env }), ...(keys.length > 0 && { env_vars: [...keys] }) };
      const table = { command, args, ...named };
      // An override takes the place of the other file.
      const override = at(place, "AGENTS.override.md", codexDir(place), "AGENTS.override.md");
      const lines = place.exists(override) ? override : at(place, "AGENTS.md", codexDir(place), "AGENTS.md");
      return [
        {
          path: at(place, ".codex/config.toml", codexDir(place), "config.toml"),
          what: "server",
          edit: tomlEdit(["mcp_servers", "memslot"], table),
        },
        // It gives the end of a session 3 seconds at most.
        ...hooksIn(at(place, ".codex/hooks.json", codexDir(place), "hooks.json"), hook, (line) =>
          jsonEdit(hookGroups({ ...claudeEvents, SessionEnd: 3 }, line)),
        ),
        linesIn(lines, instructions),
      ];
    },
    notes: (place, { hook }) => [
      ...(hook === undefined ? [] : ["Codex runs no hook that you have not trusted: type /hooks in it once."]),
      ...(isProject(place) ? ["Codex reads .codex only in a project that you have trusted."] : []),
    ],
  },
  {
    id: "gemini",
    name: "Gemini CLI",
    scopes: ["user", "project"],
    programs: ["gemini"],
    signs: ({ home }) => [path.join(home, ".gemini", "settings.json")],
    files(place, { server, keys, hook, instructions }) {
      const folder = path.join(place.home, ".gemini");
      // Gemini hands on no variable whose name speaks of a key, unless the entry names it. It puts the value in itself.
      const env = { ...Object.fromEntries(keys.map((name) => [name, `$${name}`])), ...server.env };
      // Milliseconds.
      const events = Object.fromEntries(geminiEvents.map((event) => [event, 10_000]));
      const hooks = hook === undefined ? [] : hookGroups(events, hook, { name: "memslot" });
      return [
        serverIn(at(place, ".gemini/settings.json", folder, "settings.json"), "mcpServers", { ...server, env }, hooks),
        linesIn(at(place, "GEMINI.md", folder, "GEMINI.md"), instructions),
      ];
    },
    notes: () => ["Gemini starts no server and runs no hook in a folder that it does not trust."],
  },
  {
    id: "opencode",
    name: "OpenCode",
    scopes: ["user", "project"],
    programs: ["opencode"],
    signs: (place) => [opencodeDir(place)],
    files(place, { server: { command, args, env }, hook, instructions }) {
      const folder = opencodeDir(place);
      const withComments = at(place, "opencode.jsonc", folder, "opencode.jsonc");
      const config = place.exists(withComments) ? withComments : at(place, "opencode.json", folder, "opencode.json");
      const entry = { type: "local", command: [command, ...args], environment: env, enabled: true };
      return [
        serverIn(config, "mcp", entry),
        ...hooksIn(at(place, ".opencode/plugins/memslot.js", folder, "plugins/memslot.js"), hook, (line) =>
          wholeFile(opencodePlugin(line), pluginMark),
        ),
        linesIn(at(place, "AGENTS.md", folder, "AGENTS.md"), instructions),
      ];
    },
    notes: () => ["Restart OpenCode."],
  },
  {
    id: "cursor",
    name: "Cursor",
    scopes: ["user", "project"],
    programs: ["cursor", "cursor-agent"],
    signs: ({ home }) => [path.join(home, ".cursor")],
    files(place, { server, hook, instructions }) {
      const folder = path.join(isProject(place) ? place.projectDir : place.home, ".cursor");
      const rule = ["---", "description: Long-term memory", "alwaysApply: true", "---", markdownMarkers.begin];
      const text = [...rule, ...instructions, markdownMarkers.end, ""].join("\n");
      return [
        serverIn(path.join(folder, "mcp.json"), "mcpServers", server),
        // It throws the whole file away for one name that it does not know. Before a prompt it lets no hook speak.
        ...hooksIn(path.join(folder, "hooks.json"), hook, (line) =>
          jsonEdit([
            { path: ["version"], value: 1, keeps: () => true },
            ...hookHandlers(["sessionStart", "preCompact", "stop", "sessionEnd"], { command: line }),
          ]),
        ),
        // Rules for every project stand in Cursor's settings, which are no file.
        ...(isProject(place)
          ? [
              {
                path: path.join(folder, "rules", "memslot.mdc"),
                what: "instructions" as const,
                edit: wholeFile(text, markdownMarkers.begin),
              },
            ]
          : []),
      ];
    },
    notes: () => ["Cursor shows notes at the start of a session; in between its model asks by itself."],
  },
  {
    id: "vscode",
    name: "VS Code",
    scopes: ["user", "project"],
    programs: ["code"],
    signs: (place) => [vscodeDir(place)],
    files: (place, { server, hook, instructions }) => [
      serverIn(at(place, ".vscode/mcp.json", vscodeDir(place), "mcp.json"), "servers", { type: "stdio", ...server }),
      ...hooksIn(at(place, ".github/hooks/memslot.json", place.home, ".copilot/hooks/memslot.json"), hook, (line) =>
        jsonEdit(hookHandlers(["SessionStart", "PreCompact", "Stop"], { type: "command", command: line, timeout: 10 })),
      ),
      ...(isProject(place)
        ? [linesIn(path.join(place.projectDir, ".github", "copilot-instructions.md"), instructions)]
        : []),
    ],
    notes: () => ["VS Code asks once whether it may start the server. Hooks are a preview there."],
  },
  // From here on clients that have no hook by which memory could be shown to their models.
  {
    id: "claude-desktop",
    name: "Claude Desktop",
    scopes: ["user"],
    programs: [],
    signs: (place) => [path.join(appConfigDir(place), "Claude")],
    files: (place, { server }) => [
      serverIn(path.join(appConfigDir(place), "Claude", "claude_desktop_config.json"), "mcpServers", server),
    ],
    notes: () => ["Quit Claude Desktop completely and restart it."],
  },
  {
    id: "zed",
    name: "Zed",
    scopes: ["user", "project"],
    programs: ["zed", "zeditor"],
    signs: (place) => [zedDir(place)],
    files: (place, { server }) => [
      serverIn(at(place, ".zed/settings.json", zedDir(place), "settings.json"), "context_servers", {
        source: "custom",
        ...server,
      }),
    ],
    notes: () => [],
  },
  {
    id: "windsurf",
    name: "Windsurf",
    scopes: ["user"],
    programs: ["windsurf"],
    signs: ({ home }) => [path.join(home, ".codeium", "windsurf")],
    files: ({ home }, { server }) => [
      serverIn(path.join(home, ".codeium", "windsurf", "mcp_config.json"), "mcpServers", server),
    ],
    notes: () => ["Refresh the list of MCP servers in Windsurf, or restart it."],
  },
  {
    id: "antigravity",
    name: "Antigravity",
    scopes: ["user", "project"],
    programs: ["agy", "antigravity"],
    signs: ({ home }) => ["antigravity", "antigravity-cli", "config"].map((name) => path.join(home, ".gemini", name)),
    files(place, { server, instructions }) {
      const inProject = (name: string): string => path.join(place.projectDir, name);
      if (isProject(place))
        return [
          serverIn(inProject(".agents/mcp_config.json"), "mcpServers", server),
          linesIn(inProject("AGENTS.md"), instructions),
        ];
      // The command reads one, the editor the other.
      const editor = path.join(place.home, ".gemini", "antigravity");
      const folders = [...(place.exists(editor) ? [editor] : []), path.join(place.home, ".gemini", "config")];
      return folders.map((folder) => serverIn(path.join(folder, "mcp_config.json"), "mcpServers", server));
    },
    notes: () => [],
  },
];

export function clientOf(id: ClientId): Client {
  const client = allClients.find((each) => each.id === id);
  if (client === undefined) throw new Error(`there is no client ${id}`);
  return client;
}

/** The clients that this machine seems to have: a folder of theirs is there, or their program is on the PATH. */
export function findClients(place: ClientPlace): Client[] {
  return allClients.filter(
    (client) =>
      client.signs(place).some((sign) => place.exists(sign)) || client.programs.some((name) => onPath(name, place)),
  );
}

function onPath(name: string, { env, platform }: ClientPlace): boolean {
  const endings = platform === "win32" ? [".cmd", ".exe"] : [""];
  const folders = (env["PATH"] ?? "").split(path.delimiter).filter((folder) => folder !== "");
  return folders.some((folder) => endings.some((ending) => existsSync(path.join(folder, name + ending))));
}
