import { readdir } from "node:fs/promises";
import path from "node:path";
import { formatCitation, parseCitation } from "@memslot/agent-kit";
import { type Memory, MemoryError } from "@memslot/core";
import type { Agent } from "./agent.ts";
import { type OpenedNotes, describeIndex } from "./open-notes.ts";

export interface Command {
  name: string;
  usage: string;
  help: string;
  run(argument: string, signal: AbortSignal): Promise<string>;
}

/** The commands of the chat. `notes` has the current memory, also after `/backend`. */
export function chatCommands(agent: Agent, notes: OpenedNotes): Command[] {
  const inUse = (): Memory => {
    if (notes.memory !== undefined) return notes.memory;
    throw new MemoryError("UNAVAILABLE", `memory is off (${notes.offReason}); /backend memory-core turns it on`);
  };
  const commands: Command[] = [
    command("memory", "what MEMORY.md holds, and which logs there are", () => inventory(inUse())),
    command("search QUERY", "search the notes", (query, signal) => search(inUse(), query, signal)),
    command("sources", "what the last answer rests on", (_, signal) => sourceLines(agent, notes, signal)),
    command("flush", "save what was said to memory now", (_, signal) => agent.flush(signal)),
    command("compact", "save it, then put a summary in its place", (_, signal) => agent.compact(signal)),
    command("backend [ID]", "show or change the memory backend", (id, signal) => backend(agent, notes, id, signal)),
    command("status", "memory, session, context window and flushes", async () => agent.status()),
    command("new", "save what was said and begin a new session", (_, signal) => agent.newSession(signal)),
    command("help", "this list", async () => helpText(commands)),
  ];
  return commands;
}

function command(usage: string, help: string, run: Command["run"]): Command {
  return { name: usage.split(" ")[0] ?? "", usage, help, run };
}

/** Runs `/name argument`. Failures are displayed; only an abort is thrown. */
export async function runCommand(commands: readonly Command[], line: string, signal: AbortSignal): Promise<string> {
  const [, name = "", argument = ""] = /^\/(\S*)\s*(.*)$/.exec(line) ?? [];
  const command = commands.find((known) => known.name === name.toLowerCase());
  if (command === undefined) {
    const names = [...commands.map((known) => known.name), "quit"];
    const [nearest = "help"] = names.toSorted((a, b) => likeness(name, b) - likeness(name, a));
    return `There is no /${name}. Did you mean /${nearest}? /help lists all.`;
  }
  return await command.run(argument.trim(), signal);
}

function helpText(commands: readonly Command[]): string {
  const quit = { usage: "quit", help: "leave; Ctrl-D does the same, Ctrl-C stops an answer" };
  const lines = [...commands, quit].map(({ usage, help }) => `  /${usage.padEnd(15)}${help}`);
  return ["Type a question and press Enter.", ...lines].join("\n");
}

async function search(memory: Memory, query: string, signal: AbortSignal): Promise<string> {
  if (query === "") return "What for? /search QUERY";
  const results = await memory.search(query, { signal });
  const shown = results.map((result) => `${result.score.toFixed(3)} ${formatCitation(result)}\n${result.snippet}`);
  return shown.join("\n\n") || "Nothing was found.";
}

async function inventory(memory: Memory): Promise<string> {
  const found = await readdir(path.join(memory.workspaceDir, "memory"), { recursive: true }).catch(() => []);
  const names = found.map((name) => name.replaceAll(path.sep, "/")).filter((name) => name.endsWith(".md"));
  const logs = names.filter((name) => /^\d{4}-\d{2}-\d{2}[^/]*\.md$/.test(name)).toSorted();
  const { text } = await memory.readFile({ path: "MEMORY.md" });
  return [
    `MEMORY.md\n${text.trim() || "(empty)"}\n`,
    `${logs.length} daily logs${logs.length === 0 ? "" : `, the latest: ${logs.slice(-5).join(", ")}`}`,
    `${names.length - logs.length} other notes under memory/`,
    `Index: ${describeIndex(memory.status())}`,
  ].join("\n");
}

async function sourceLines(agent: Agent, { memory }: OpenedNotes, signal: AbortSignal): Promise<string> {
  const lines = agent.sources.map(async (citation) => {
    const place = parseCitation(citation);
    if (place === undefined || memory === undefined) return citation;
    const { path, startLine: from, endLine } = place;
    const read = await memory.readFile({ path, from, lines: endLine - from + 1, signal }).catch(() => undefined);
    const first = read?.text.split("\n").find((line) => line.trim() !== "") ?? "(cannot be read any more)";
    return `${citation}\n  ${first.trim()}`;
  });
  return (await Promise.all(lines)).join("\n") || "The last answer rests on no note.";
}

/** Opens and syncs the new memory before it replaces the old one, which stays on failure. */
async function backend(agent: Agent, notes: OpenedNotes, id: string, signal: AbortSignal): Promise<string> {
  const { memory: old } = notes;
  const inUse = old?.status().backend ?? `none, ${notes.offReason}`;
  if (id === "" || id === inUse) return `The memory backend in use is ${inUse}. /backend ID changes it.`;
  const next = await notes.openWith(id, signal);
  try {
    await next.memory?.sync({ reason: "backend", signal });
  } catch (error) {
    await next.memory?.close();
    throw error;
  }
  agent.useMemory(next.memory, next.offReason);
  Object.assign(notes, { memory: next.memory, offReason: next.offReason });
  await old?.close();
  return `Memory is now ${next.memory === undefined ? `off, ${next.offReason}` : describeIndex(next.memory.status())}.`;
}

/** The share of letters that two names have in common. */
function likeness(typed: string, name: string): number {
  return [...name].filter((letter) => typed.includes(letter)).length / Math.max(typed.length, name.length);
}
