import { readFile, readdir, rm } from "node:fs/promises";
import path from "node:path";
import type { ToolCall } from "@memslot/agent-kit";
import { type Memory, type MemslotConfig, parseConfig } from "@memslot/core";
import { makeFolder } from "@memslot/test-tools/files";
import { openMemory } from "memslot";
import { type Agent, type AgentOptions, createAgent } from "../agent.ts";
import type { ChatModel, ModelReply, ModelRequest } from "../models/chat-model.ts";

/** A workspace and a state folder with a real memory over them. */
export interface AgentPlace {
  workspaceDir: string;
  stateDir: string;
  config: MemslotConfig;
  memory: Memory;
  /** What the agents told. */
  told: string[];
  agent(options?: Partial<AgentOptions>): Promise<Agent>;
  /** All messages of the only transcript, or of that whose name holds `part`, as `role: text`. */
  transcript(): Promise<string[]>;
  /** All notes under `memory/`, one text. */
  notes(): Promise<string>;
  journal(): Promise<string[]>;
  remove(): Promise<void>;
}

export async function createAgentPlace(settings: object = {}): Promise<AgentPlace> {
  const rootDir = makeFolder({
    "notes/MEMORY.md": "# Memory\n\n- The user is called Xi.\n",
    "notes/memory/boats.md": "# Boats\n\n- The gate code of the harbour is HX-19.\n",
  });
  const [workspaceDir, stateDir] = [path.join(rootDir, "notes"), path.join(rootDir, "state")];
  const agents = {
    defaults: { userTimezone: "Europe/Amsterdam", memorySearch: { sync: { watch: false } }, ...settings },
  };
  const config = parseConfig({ agents }, { env: {}, baseDir: rootDir, stateDir, workspace: workspaceDir });
  const memory = await openMemory({ config, agentId: "main", workspaceDir });
  await memory.sync();
  const told: string[] = [];
  const opened: Agent[] = [];
  return {
    workspaceDir,
    stateDir,
    config,
    memory,
    told,
    agent: async (options = {}) => {
      const shared = { memory, config, agent: config.agent("main"), stateDir, sessionKey: "agent:main:main" };
      const agent = await createAgent({ ...shared, notify: (line) => told.push(line), ...options });
      opened.push(agent);
      return agent;
    },
    transcript: () => transcriptOf(stateDir),
    notes: () => notesOf(workspaceDir),
    journal: () => journalOf(stateDir),
    remove: async () => {
      for (const agent of opened) await agent.close();
      await memory.close();
      await rm(rootDir, { recursive: true, force: true });
    },
  };
}

interface Line {
  message?: { role: string; content: { text?: string; name?: string }[] };
}

export async function transcriptOf(stateDir: string): Promise<string[]> {
  const folder = path.join(stateDir, "agents", "main", "sessions");
  const names = (await readdir(folder)).filter((name) => name.endsWith(".jsonl"));
  const texts = await Promise.all(names.map((name) => readFile(path.join(folder, name), "utf8")));
  const lines = texts.flatMap((text) => text.split("\n")).filter((line) => line.startsWith("{") && line.endsWith("}"));
  return lines.flatMap((line) => {
    const { message } = JSON.parse(line) as Line;
    if (message === undefined) return [];
    return [`${message.role}: ${message.content.map((part) => part.text ?? `<${part.name}>`).join(" ")}`];
  });
}

async function notesOf(workspaceDir: string): Promise<string> {
  const folder = path.join(workspaceDir, "memory");
  const names = (await readdir(folder)).filter((name) => name.endsWith(".md"));
  return (await Promise.all(names.map((name) => readFile(path.join(folder, name), "utf8")))).join("\n");
}

/** What still waits for the flush. */
async function journalOf(stateDir: string): Promise<string[]> {
  const names = await readdir(path.join(stateDir, "agents", "main", "flush")).catch(() => []);
  return names.filter((name) => name.endsWith(".json") && !name.endsWith(".done.json"));
}

export interface ScriptedModel extends ChatModel {
  requests: ModelRequest[];
}

/** A model that plays a script. What it replies as text is streamed. */
export function scriptedModel(
  reply: (request: ModelRequest, index: number) => Partial<ModelReply> | Promise<Partial<ModelReply>>,
  contextWindowTokens = 128_000,
): ScriptedModel {
  const requests: ModelRequest[] = [];
  return {
    name: "scripted",
    contextWindowTokens,
    requests,
    complete: async (request) => {
      requests.push(request);
      const { text = "", toolCalls = [] } = await reply(request, requests.length - 1);
      request.signal.throwIfAborted();
      if (text !== "") request.onText?.(text);
      return { text, toolCalls };
    },
    close: async () => undefined,
  };
}

let callNumber = 0;
export const call = (name: string, input: object): ToolCall => ({
  id: `call-${(callNumber += 1)}`,
  name,
  arguments: JSON.stringify(input),
});

/** Which of the agent's conversations with the model a request belongs to. */
export function kindOf({
  system,
  tools,
}: Pick<ModelRequest, "system" | "tools">): "answer" | "flush" | "summary" | "note" {
  if (system.includes("You summarise")) return "summary";
  if (system.includes("You write the note")) return "note";
  return tools.some(({ name }) => name === "memory_get") || system.includes("personal assistant") ? "answer" : "flush";
}
