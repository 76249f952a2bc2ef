import type { AgentConfig } from "@memslot/core";
import { redactSecrets, secretsIn } from "@memslot/indexing/host";
import type { MemoryTool } from "./tool-types.ts";
import { badInput } from "./tool-input.ts";

const written: Readonly<Record<string, readonly string[]>> = {
  memory_append: ["text", "tags"],
  memory_edit: ["new"],
  memory_forget: ["reason"],
};

/** A model's text as a note may have it. `refuse`: a certain secret is a `problem`; others are masked. */
export function checkSecrets(
  text: string,
  rule: AgentConfig["secrets"] = "refuse",
  replaced = "",
): { text: string; masked: readonly string[]; problem?: string } {
  if (rule === "keep") return { text, masked: [] };
  const known = new Set(secretsIn(replaced).map(({ kind }) => kind));
  const found = secretsIn(text).filter(({ kind }) => !known.has(kind));
  const certain = found.find(({ isCertain }) => isCertain);
  const masked = found.map(({ kind, line }) => `${kind} (line ${line})`);
  if (found.length === 0) return { text, masked };
  if (certain === undefined || rule === "mask") return { text: redactSecrets(text), masked };
  const problem = `holds what looks like a secret (${certain.kind}, line ${certain.line}), and notes are read by models and sent to providers: leave it out, and write where it is kept instead. A user who wants it in the note writes it there, or sets memory.secrets`;
  return { text, masked, problem };
}

/** Wraps a tool so that it writes no secrets. Its answer names what was masked. */
export function guardSecrets(tool: MemoryTool, rule: AgentConfig["secrets"]): MemoryTool {
  const fields = written[tool.name] ?? [];
  if (rule === "keep" || fields.length === 0) return tool;
  return {
    ...tool,
    execute: async (input, options) => {
      if (typeof input !== "object" || input === null) return await tool.execute(input, options);
      const given: Record<string, unknown> = { ...input };
      const all: string[] = [];
      for (const field of fields) {
        const value = given[field];
        const text = Array.isArray(value) ? value.join("\n") : value;
        if (typeof text !== "string") continue;
        const { text: clean, masked, problem } = checkSecrets(text, rule, String(given["old"] ?? ""));
        if (problem !== undefined) return badInput(tool.name, field, `${field} ${problem}`);
        if (masked.length > 0) given[field] = Array.isArray(value) ? clean.split("\n") : clean;
        all.push(...masked);
      }
      const answer = await tool.execute(given, options);
      return all.length === 0 ? answer : { ...answer, masked: all };
    },
  };
}
