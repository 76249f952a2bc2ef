import { join } from "node:path";
import { onTestFinished } from "vitest";
import {
  type Memory,
  type MemoryPlugin,
  type MemoryPluginContext,
  type MemorySearchManager,
  type MemslotConfig,
  type OpenMemoryOptions,
  defineMemoryPlugin,
  openMemory,
  parseConfig,
} from "@memslot/core";
import { type Files, tempFolder, writeFiles } from "@memslot/test-tools/files";
import { fakeManager, result, settle } from "./fakes.ts";

/** A folder with a workspace, in which memories are opened until the test ends. */
export interface MemoryHome {
  root: string;
  workspaceDir: string;
  write(files: Files): void;
  /** A configuration with this workspace and these keys, and these of an agent's memory. */
  config(content?: Record<string, unknown>, memorySearch?: Record<string, unknown>): MemslotConfig;
  open(options?: Partial<OpenMemoryOptions>): Promise<Memory>;
}

export function createMemoryHome(): MemoryHome {
  const root = tempFolder({ "notes/MEMORY.md": "# Notes" });
  const workspaceDir = join(root, "notes");
  const config: MemoryHome["config"] = (content = {}, memorySearch = {}) => {
    const agents = { defaults: { workspace: workspaceDir, memorySearch }, ...(content["agents"] as object) };
    return parseConfig({ ...content, agents }, { baseDir: root, stateDir: join(root, "state"), env: { HOME: root } });
  };
  return {
    root,
    workspaceDir,
    write: (files) => writeFiles(root, files),
    config,
    async open(options = {}) {
      const memory = await openMemory({ config: config(), agentId: "main", notify: () => {}, ...options });
      onTestFinished(() => memory.close().catch(() => undefined));
      return memory;
    },
  };
}

export interface Counted {
  plugin: MemoryPlugin;
  /** What it was opened with, each time. */
  contexts: MemoryPluginContext[];
  closed: () => number;
}

/** A memory plugin that counts what is opened and finds a note that is named after it. */
export function counted(
  id = "memory-core",
  manager: Partial<MemorySearchManager> = {},
  own: Partial<MemoryPlugin> = {},
): Counted {
  const contexts: MemoryPluginContext[] = [];
  let closed = 0;
  const plugin = defineMemoryPlugin({
    id,
    async open(context) {
      contexts.push(context);
      await settle();
      return fakeManager({
        search: async () => [result({ path: `${id}.md` })],
        status: () => ({ backend: id, provider: context.embeddings.provider?.id ?? "none" }),
        close: async () => void (closed += 1),
        ...manager,
      });
    },
    ...own,
  });
  return { plugin, contexts, closed: () => closed };
}
