import path from "node:path";
import { valueOf } from "../connect/edits/json-edit.ts";
import { tomlOf } from "../connect/edits/toml-edit.ts";
import { UnusableFile, formOf } from "../connect/edits/text-form.ts";
import type { Receipt } from "../connect/receipt.ts";

/** Something that a client leaves out without a word. */
export interface SilentSkip {
  readonly message: string;
  readonly next: string;
}

export interface SkipSurroundings {
  readonly home: string;
  /** Variables that the configuration asks for and that are set. */
  readonly keys: readonly string[];
  /** The text of a file; undefined where there is none. */
  readonly read: (file: string) => string | undefined;
}

/** The names that Cursor knows. */
const cursorEvents = new Set(
  (
    "sessionStart sessionEnd preToolUse postToolUse postToolUseFailure subagentStart subagentStop beforeShellExecution " +
    "afterShellExecution beforeMCPExecution afterMCPExecution beforeReadFile afterFileEdit beforeSubmitPrompt preCompact " +
    "stop afterAgentResponse afterAgentThought beforeTabFileRead afterTabFileEdit"
  ).split(" "),
);

/** What of a connection its client will skip without saying so, as far as its files tell. */
export function silentSkips(receipt: Receipt, around: SkipSurroundings): SilentSkip[] {
  switch (receipt.client) {
    case "claude-code":
      return claudeSkips(receipt, around);
    case "codex":
      return codexSkips(receipt, around);
    case "cursor":
      return cursorSkips(receipt, around);
    case "gemini":
      return geminiSkips(receipt, around);
    default:
      return [];
  }
}

function claudeSkips(receipt: Receipt, { read }: SkipSurroundings): SilentSkip[] {
  const file = fileOf(receipt, /settings(?:\.local)?\.json$/u);
  if (jsonOf(file, read)["disableAllHooks"] !== true) return [];
  return [
    { message: `disableAllHooks in ${file} keeps every hook from running`, next: "Take it out to have notes shown." },
  ];
}

function codexSkips(receipt: Receipt, { read }: SkipSurroundings): SilentSkip[] {
  const file = fileOf(receipt, /hooks\.json$/u);
  if (file === undefined) return [];
  const skips: SilentSkip[] = [];
  const value = jsonOf(file, read);
  const strange = Object.keys(value).filter((name) => name !== "hooks");
  if (strange.length > 0)
    skips.push({
      message: `Codex ignores all of ${file}, as it holds ${strange.map((name) => `"${name}"`).join(", ")}`,
      next: "Leave nothing but hooks in it.",
    });
  if (/"args"\s*:/u.test(JSON.stringify(value["hooks"] ?? {})))
    skips.push({
      message: `Codex ignores "args" of the hooks in ${file}`,
      next: "Write the whole command line into command.",
    });
  const config = tomlAt(path.join(path.dirname(file), "config.toml"), read);
  const user = tomlAt(fileOf(receipt, /config\.toml$/u), read);
  if (objectAt(config, "features")["hooks"] === false)
    skips.push({ message: "hooks are off in config.toml ([features] hooks = false)", next: "Take that line out." });
  const trusted = Object.keys(objectAt(objectAt(user, "hooks"), "state"));
  if (!trusted.some((key) => key.startsWith(`${file}:`)))
    skips.push({
      message: `Codex does not run the hooks of ${file} before you trust them`,
      next: "Type /hooks in Codex.",
    });
  return skips;
}

function cursorSkips(receipt: Receipt, { read }: SkipSurroundings): SilentSkip[] {
  const file = fileOf(receipt, /hooks\.json$/u);
  if (file === undefined) return [];
  const value = jsonOf(file, read);
  const unknown = Object.keys(objectAt(value, "hooks")).filter((name) => !cursorEvents.has(name));
  if (unknown.length === 0) return [];
  const names = unknown.map((name) => `"${name}"`).join(", ");
  return [
    {
      message: `Cursor ignores all of ${file} if it does not know one of its events, as ${names}`,
      next: "Correct or take out that event.",
    },
  ];
}

function geminiSkips(receipt: Receipt, { home, keys, read }: SkipSurroundings): SilentSkip[] {
  const skips: SilentSkip[] = [];
  const file = fileOf(receipt, /settings\.json$/u);
  const entry = objectAt(objectAt(jsonOf(file, read), "mcpServers"), "memslot");
  const named = objectAt(entry, "env");
  const left = keys.filter((name) => named[name] === undefined);
  if (left.length > 0)
    skips.push({
      message: `Gemini does not hand ${left.join(", ")} on to the server`,
      next: "Run memslot connect gemini again: it names them in the entry.",
    });
  const { projectDir } = receipt;
  if (projectDir === undefined) return skips;
  const trusted = jsonOf(path.join(home, ".gemini", "trustedFolders.json"), read);
  const isTrusted = Object.entries(trusted).some(([folder, how]) => isWithin(projectDir, folder, String(how)));
  if (!isTrusted)
    skips.push({
      message: `Gemini may not trust ${projectDir}, and starts neither server nor hooks there then`,
      next: "Answer its question about the folder, or type /permissions in it.",
    });
  return skips;
}

function isWithin(folder: string, trusted: string, how: string): boolean {
  if (how === "DO_NOT_TRUST") return false;
  const top = how === "TRUST_PARENT" ? path.dirname(trusted) : trusted;
  return folder === top || folder.startsWith(top + path.sep);
}

function fileOf({ files }: Receipt, name: RegExp): string | undefined {
  return files.find((file) => name.test(file.path))?.path;
}

function jsonOf(file: string | undefined, read: SkipSurroundings["read"]): Record<string, unknown> {
  return parsed(file, read, (text) => valueOf(formOf(text).body));
}

function tomlAt(file: string | undefined, read: SkipSurroundings["read"]): Record<string, unknown> {
  return parsed(file, read, (text) => tomlOf(text));
}

function parsed(
  file: string | undefined,
  read: SkipSurroundings["read"],
  parse: (text: string) => unknown,
): Record<string, unknown> {
  const text = file === undefined ? undefined : read(file);
  if (text === undefined) return {};
  try {
    return parse(text) as Record<string, unknown>;
  } catch (error) {
    if (error instanceof UnusableFile) return {}; // Told by the check of what was written there.
    throw error;
  }
}

function objectAt(value: Record<string, unknown>, name: string): Record<string, unknown> {
  const inner = value[name];
  return typeof inner === "object" && inner !== null ? (inner as Record<string, unknown>) : {};
}
