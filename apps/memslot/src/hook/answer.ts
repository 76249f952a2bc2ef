import type { HookEvent } from "./hook-event.ts";

/** What a client takes from a hook to its model, in the client's own shape; undefined where it takes nothing there. */
export function answerOf({ shape, moment, name }: HookEvent, text: string): string | undefined {
  if (text === "") return undefined;
  switch (shape) {
    case "claude-code":
    case "codex":
    case "gemini":
      if (moment !== "start" && moment !== "prompt") return undefined;
      return JSON.stringify({ hookSpecificOutput: { hookEventName: name, additionalContext: text } });
    case "vscode":
      if (moment !== "start") return undefined;
      return JSON.stringify({ hookSpecificOutput: { hookEventName: name, additionalContext: text } });
    case "cursor":
      return moment === "start" ? JSON.stringify({ additional_context: text }) : undefined;
    case "opencode":
      return moment === "start" || moment === "prompt" ? JSON.stringify({ text }) : undefined;
    default:
      return undefined;
  }
}

/** Tells OpenCode's plugin that what was said is kept, or is not to be: it sends again what nobody has taken. */
export function takenAnswer({ shape }: HookEvent): string | undefined {
  return shape === "opencode" ? JSON.stringify({ taken: true }) : undefined;
}

/** Whether the client takes anything there: what nobody hears need not be looked for. */
export function hears(event: HookEvent): boolean {
  return answerOf(event, "x") !== undefined;
}
