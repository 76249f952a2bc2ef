import { QmdFailure, type QmdFailureReason } from "../qmd-contract.ts";
import type { KeptEnd } from "./child/kept-process.ts";

interface Shape {
  reason: QmdFailureReason;
  words: RegExp;
  action?: string | undefined;
}

const roomAction = "make room on the disk, or make the state folder writable";
const buildAction = "install it again with: npm install -g @tobilu/qmd";

/** What qmd 2.8.3 says when it fails, the most telling first. */
const shapes: readonly Shape[] = [
  { reason: "not_built", words: /qmd is not built|Cannot find module '[^'\n]*qmd\.js'/, action: buildAction },
  { reason: "unknown_collection", words: /Collection not found:/ },
  { reason: "config_broken", words: /Failed to parse [^\n]*\.ya?ml/ },
  { reason: "index_damaged", words: /SQLITE_NOTADB|SQLITE_CORRUPT|file is not a database|disk image is malformed/ },
  {
    reason: "no_space",
    words:
      /SQLITE_FULL|SQLITE_IOERR|SQLITE_CANTOPEN|SQLITE_READONLY|ENOSPC|EROFS|EDQUOT|database or disk is full|directory does not exist|unable to open database/,
    action: roomAction,
  },
  { reason: "index_busy", words: /SQLITE_BUSY|database is locked/ },
  {
    reason: "models_unavailable",
    words:
      /LLM operations are disabled|No model file found|huggingface\.co|Failed to (?:load|download) (?:the )?model|NoBinaryFoundError/,
  },
];

const crashes = new Set(["SIGSEGV", "SIGABRT", "SIGBUS", "SIGILL", "SIGFPE", "SIGTRAP", "SIGSYS"]);
/** Codes by which a wrapper tells of such an end: 128 and the number of the signal. */
const crashCodes = new Set([132, 133, 134, 135, 136, 139]);

/** The failure that an end tells, from its code, its signal and its last words. */
export function classifyEnd(what: string, end: Pick<KeptEnd, "code" | "signal">, stderr: string): QmdFailure {
  const { code, signal } = end;
  const words = lastWords(stderr);
  const how = signal === null ? `ended with code ${code}` : `ended with ${signal}`;
  const message = `${what} ${how}${words === "" ? "" : `: ${words}`}`;
  if ((signal !== null && crashes.has(signal)) || (code !== null && crashCodes.has(code)))
    return new QmdFailure("crash", message, {
      action: "see that qmd was installed for the Node that runs it (22 or later)",
    });
  const shape = shapeOf(stderr);
  if (shape !== undefined) return new QmdFailure(shape.reason, message, { action: shape.action });
  return new QmdFailure(signal !== null || (code !== null && code > 128) ? "crash" : "qmd_error", message);
}

/** The failure that qmd tells in words alone. */
export function classifyWords(what: string, text: string): QmdFailure {
  const shape = shapeOf(text);
  return new QmdFailure(shape?.reason ?? "qmd_error", `${what} failed: ${lastWords(text)}`, { action: shape?.action });
}

function shapeOf(text: string): Shape | undefined {
  const said = withoutProgress(text);
  return shapes.find(({ words }) => words.test(said));
}

/** Its progress repeats the question, and a question can have any word in it. */
function withoutProgress(text: string): string {
  return text
    .split("\n")
    .filter((line) => !/^\s*[├└│]/.test(line) && !line.startsWith("Structured search:"))
    .join("\n");
}

const shownLength = 300;

/** The line that tells what went wrong: the first of an error, or else the last one. */
function lastWords(text: string): string {
  const lines = withoutProgress(text)
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "" && !line.startsWith("at ") && !line.startsWith("Node.js v"));
  const error = lines.findLast(
    (line) => /error|failed|not found|cannot/i.test(line) && !line.startsWith("Cannot find package"),
  );
  return (error ?? lines.at(-1) ?? "").slice(0, shownLength);
}
