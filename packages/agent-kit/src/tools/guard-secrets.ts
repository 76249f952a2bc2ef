import type { AgentConfig } from "@memslot/core";
import { redactLines, secretsIn } from "@memslot/indexing/host";
import type { MemoryTool } from "./memory-tool.ts";
import { badInput } from "./tool-input.ts";

/** The fields of each tool that end up in files. */
const written: Readonly<Record<string, readonly string[]>> = {
  memory_append: ["text", "tags"],
  memory_edit: ["new"],
  memory_forget: ["reason"],
};

/**
 * A tool that writes no secret which a model gives it. With `refuse`, one whose shape makes it certain is an error, and
 * another one, such as a password behind its name, is masked as with `mask`; the answer names what was masked. What the
 * replaced text holds already is left alone.
 */
export function guardSecrets(tool: MemoryTool, rule: AgentConfig["secrets"]): MemoryTool {
  const fields = written[tool.name] ?? [];
  if (rule === "keep" || fields.length === 0) return tool;
  return {
    ...tool,
    execute: async (input, options) => {
      if (typeof input !== "object" || input === null) return await tool.execute(input, options);
      const given: Record<string, unknown> = { ...input };
      const known = typeof given["old"] === "string" ? secretsIn(given["old"]).map(({ kind }) => kind) : [];
      const masked: string[] = [];
      for (const field of fields) {
        const value = given[field];
        const text = Array.isArray(value) ? value.join("\n") : value;
        if (typeof text !== "string") continue;
        const found = secretsIn(text).filter(({ kind }) => !known.includes(kind));
        const certain = found.find(({ isCertain }) => isCertain);
        if (certain !== undefined && rule === "refuse")
          return badInput(
            tool.name,
            field,
            `${field} holds what looks like a secret (${certain.kind}, line ${certain.line}), and notes are read by models and sent to providers: leave it out, and write where it is kept instead. A user who wants it in the note writes it there, or sets memory.secrets`,
          );
        if (found.length === 0) continue;
        const clean = redactLines(text.split("\n"));
        given[field] = Array.isArray(value) ? clean : clean.join("\n");
        masked.push(...found.map(({ kind, line }) => `${kind} (line ${line})`));
      }
      const answer = await tool.execute(given, options);
      return masked.length === 0 ? answer : { ...answer, masked };
    },
  };
}
