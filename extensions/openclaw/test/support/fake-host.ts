import { rmSync } from "node:fs";
import path from "node:path";
import { makeFolder } from "@memslot/test-tools/files";
import plugin from "@memslot/openclaw";

/** What the plugin gives a host when it is registered. */
export interface Registered {
  workspace: string;
  config: Record<string, unknown>;
  capability: {
    promptBuilder(input: { availableTools: Set<string> }): string[];
    flushPlanResolver(input: object): { relativePath: string } | null;
    runtime: {
      getMemorySearchManager(input: object): Promise<{ manager: Manager | null; error?: string }>;
      classifyWorkspaceMemoryPaths(input: object): Promise<object[]>;
      closeAllMemorySearchManagers(): Promise<void>;
    };
  };
  tool(name: string, context: object): Tool | null;
  commands: { name: string }[];
  end(): Promise<void>;
}

interface Manager {
  sync(params: { reason: string }): Promise<void>;
  search(query: string, options?: object): Promise<{ path: string }[]>;
  readFile(params: { relPath: string; from?: number; lines?: number }): Promise<{ text: string }>;
  status(): { backend: string; files?: number };
  probeEmbeddingAvailability(): Promise<{ ok: boolean; checkedAtMs?: number }>;
}

interface Tool {
  execute(id: string, input: object): Promise<{ content: { text: string }[]; details: Answer }>;
}

interface Answer {
  state?: string;
  results?: { path: string }[];
  error?: string;
  code?: string;
  text?: string;
}

/** The plugin in a host that keeps what it is given, with an owner's note and one that `extraPaths` shares. */
export function registerInHost(config: object = {}): Registered {
  const folder = makeFolder({
    "notes/MEMORY.md": "# Facts\n\n- The door code of the office is 7781.\n",
    "notes/handbook/office.md": "# Office\n\n- The door code is asked for at the desk.\n",
  });
  const workspace = path.join(folder, "notes");
  const search = { provider: "none", extraPaths: ["handbook"] };
  const whole = { memory: { search }, ...config };
  let capability: unknown;
  const tools = new Map<string, (context: object) => unknown>();
  const commands: Registered["commands"] = [];
  let isRegistering = true;
  plugin.register({
    config: whole,
    pluginConfig: { stateDir: path.join(folder, "state") },
    logger: { info: () => undefined, warn: () => undefined },
    get runtime() {
      // As 2026.9.6 does where it only lists the commands of its plugins.
      if (isRegistering)
        throw new Error('memslot runtime is intentionally unavailable during "cli-metadata" registration.');
      return {
        version: "2026.9.6",
        agent: { resolveAgentWorkspaceDir: () => workspace },
        state: { resolveStateDir: () => path.join(folder, "host") },
      };
    },
    registerMemoryCapability: (given) => (capability = given),
    registerTool: (create, { names }) => tools.set(names[0] ?? "", create as (context: object) => unknown),
    registerCli: (_register, { descriptors }) => commands.push(...descriptors),
  });
  isRegistering = false;
  const given = capability as Registered["capability"];
  return {
    workspace,
    config: whole,
    capability: given,
    tool: (name, context) => tools.get(name)?.(context) as Tool | null,
    commands,
    async end() {
      await given.runtime.closeAllMemorySearchManagers();
      rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
    },
  };
}
