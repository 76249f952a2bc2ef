import { createHash } from "node:crypto";
import { join } from "node:path";
import { MemoryError } from "../contract/errors.ts";
import { namesIn } from "../files/error-code.ts";

/** Names that Windows keeps for devices, whatever follows a dot. */
const deviceName = /^(?:con|prn|aux|nul|com\d|lpt\d)(?:\.|$)/i;

/** Returns the problem of an agent id, in words that follow the id; undefined if it is valid. */
export function agentIdProblem(id: unknown): string | undefined {
  if (typeof id !== "string") return "it must be a text";
  if (id.trim() === "") return "it must not be blank";
  if (id === "." || id === "..") return "it must be more than dots";
  if (id.length > 64) return "it must have at most 64 characters";
  if (!/^[\w.-]+$/.test(id)) return `${quoteText(id)} must have only letters, digits, "_", "-" and "."`;
  if (id.endsWith(".")) return `${quoteText(id)} must not end with a dot, which Windows leaves out of a file name`;
  if (deviceName.test(id)) return `${quoteText(id)} is the name of a device on Windows, and no name of a file there`;
  return undefined;
}

/** Throws `INVALID_ARGUMENT` for an id that cannot name a folder or differs from another only by case. */
export function checkAgentId(id: unknown, others: readonly string[], advice = ""): void {
  const problem = agentIdProblem(id);
  if (problem !== undefined) throw new MemoryError("INVALID_ARGUMENT", `agent id: ${problem}${advice}`);
  const written = String(id);
  // Some systems take both for the same file name.
  const twin = others.find((other) => other.toLowerCase() === written.toLowerCase());
  if (twin === undefined || others.includes(written)) return;
  throw new MemoryError(
    "INVALID_ARGUMENT",
    `agent id: ${quoteText(written)} and ${quoteText(twin)} are one file name on some systems; write ${quoteText(twin)}, or choose another id`,
  );
}

/** The agents that have something in the state folder: sessions, or an index. In the order of their ids. */
export function agentsWithState(stateDir: string): string[] {
  const folders = namesIn(join(stateDir, "agents"));
  // The index of a workspace that is not the agent's own one has a mark behind the id.
  const indexes = namesIn(join(stateDir, "memory")).flatMap(
    (name) => /^(.+?)(?:-[\da-f]{8})?\.sqlite$/.exec(name)?.[1] ?? [],
  );
  return [...new Set([...folders, ...indexes])].filter((id) => agentIdProblem(id) === undefined).toSorted();
}

/** Throws `INVALID_ARGUMENT` for an id that cannot name a folder or differs from a known agent's only by case. */
export function checkAgentPlace({ stateDir, agentId }: { stateDir: string; agentId: string }): void {
  checkAgentId(agentId, agentsWithState(stateDir));
}

export function quoteName(name: string): string {
  return /^[\w$-]{1,80}$/.test(name) ? name : quoteText(name);
}

/** Text in quotes for a message: no control characters, and not longer than a line can bear. */
export function quoteText(text: string): string {
  const short = text.length > 80 ? `${text.slice(0, 80).toWellFormed()}…` : text;
  return JSON.stringify(short).replaceAll(
    /\p{C}/gu,
    (character) => `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`,
  );
}

/** A name for content or for a text of any length, in hexadecimal. */
export function sha256Of(content: string | Uint8Array): string {
  return createHash("sha256").update(content).digest("hex");
}
