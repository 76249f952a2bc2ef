import type { ClientId } from "../../src/connect/client.ts";
import type { HookMoment } from "../../src/hook/hook-event.ts";

/** An event as a client sends it on stdin, and what becomes of it. */
export interface SentEvent {
  readonly client: ClientId;
  readonly moment: HookMoment;
  readonly input: Record<string, unknown>;
  /** Where the text for the model stands in the answer, as the client wants it; undefined where it takes none. */
  readonly answer?: (text: unknown) => object;
  /** Who sends it, where that is not the client whose hook is run. */
  readonly sender?: ClientId;
}

export const question = "which port does the staging database listen on?";

const inContext =
  (hookEventName: string) =>
  (text: unknown): object => ({ hookSpecificOutput: { hookEventName, additionalContext: text } });

const claude = {
  session_id: "0d5f1a9e-1111-4222-8333-944455556666",
  transcript_path: "/nowhere/transcript.jsonl",
  cwd: "/home/ada/app",
  permission_mode: "default",
};
const codex = { ...claude, turn_id: "t-1", model: "gpt-5", transcript_path: null };
const cursor = {
  conversation_id: "c0ffee00-1111-4222-8333-944455556666",
  generation_id: "g-1",
  model: "auto",
  cursor_version: "2.4.1",
  workspace_roots: ["/home/ada/app"],
  user_email: null,
  transcript_path: null,
};
const gemini = { session_id: "g-5", transcript_path: "", cwd: "/home/ada/app", timestamp: "2026-05-01T08:00:00Z" };
const vscode = { sessionId: "v-5", transcript_path: "", cwd: "/home/ada/app", timestamp: "2026-05-01T08:00:00Z" };
const opencode = { session_id: "ses_1", cwd: "/home/ada/app" };

/** Every event that is registered, in every shape that is documented. */
export const sentEvents: readonly SentEvent[] = [
  ...["startup", "resume", "clear", "compact", "fork"].map((source): SentEvent => ({
    client: "claude-code",
    moment: "start",
    input: { ...claude, hook_event_name: "SessionStart", source },
    answer: inContext("SessionStart"),
  })),
  {
    client: "claude-code",
    moment: "prompt",
    input: { ...claude, hook_event_name: "UserPromptSubmit", prompt: question },
    answer: inContext("UserPromptSubmit"),
  },
  ...["manual", "auto"].map((trigger): SentEvent => ({
    client: "claude-code",
    moment: "compact",
    input: { ...claude, hook_event_name: "PreCompact", trigger, custom_instructions: "" },
  })),
  {
    client: "claude-code",
    moment: "turn-end",
    input: { ...claude, hook_event_name: "Stop", stop_hook_active: false, last_assistant_message: "It is done." },
  },
  ...["clear", "logout", "prompt_input_exit", "other"].map((reason): SentEvent => ({
    client: "claude-code",
    moment: "end",
    input: { ...claude, hook_event_name: "SessionEnd", reason },
  })),
  ...["startup", "resume", "clear", "compact"].map((source): SentEvent => ({
    client: "codex",
    moment: "start",
    input: { ...codex, hook_event_name: "SessionStart", source },
    answer: inContext("SessionStart"),
  })),
  {
    client: "codex",
    moment: "prompt",
    input: { ...codex, hook_event_name: "UserPromptSubmit", prompt: question },
    answer: inContext("UserPromptSubmit"),
  },
  { client: "codex", moment: "compact", input: { ...codex, hook_event_name: "PreCompact", trigger: "auto" } },
  {
    client: "codex",
    moment: "turn-end",
    input: { ...codex, hook_event_name: "Stop", last_assistant_message: "It is done." },
  },
  { client: "codex", moment: "end", input: { ...codex, hook_event_name: "SessionEnd", reason: "other" } },
  ...["startup", "resume", "clear"].map((source): SentEvent => ({
    client: "gemini",
    moment: "start",
    input: { ...gemini, hook_event_name: "SessionStart", source },
    answer: inContext("SessionStart"),
  })),
  {
    client: "gemini",
    moment: "prompt",
    input: { ...gemini, hook_event_name: "BeforeAgent", prompt: question },
    answer: inContext("BeforeAgent"),
  },
  { client: "gemini", moment: "compact", input: { ...gemini, hook_event_name: "PreCompress", trigger: "auto" } },
  {
    client: "gemini",
    moment: "turn-end",
    input: { ...gemini, hook_event_name: "AfterAgent", prompt: "Do it.", prompt_response: "It is done." },
  },
  { client: "gemini", moment: "end", input: { ...gemini, hook_event_name: "SessionEnd", reason: "exit" } },
  {
    client: "cursor",
    moment: "start",
    input: { ...cursor, hook_event_name: "sessionStart", session_id: cursor.conversation_id, composer_mode: "agent" },
    answer: (text) => ({ additional_context: text }),
  },
  { client: "cursor", moment: "prompt", input: { ...cursor, hook_event_name: "beforeSubmitPrompt", prompt: question } },
  { client: "cursor", moment: "compact", input: { ...cursor, hook_event_name: "preCompact", trigger: "auto" } },
  {
    client: "cursor",
    moment: "turn-end",
    input: { ...cursor, hook_event_name: "stop", status: "completed", loop_count: 0 },
  },
  { client: "cursor", moment: "end", input: { ...cursor, hook_event_name: "sessionEnd", reason: "completed" } },
  {
    client: "claude-code",
    sender: "cursor",
    moment: "start",
    input: { ...cursor, hook_event_name: "SessionStart", session_id: cursor.conversation_id, source: "startup" },
    answer: inContext("SessionStart"),
  },
  {
    client: "vscode",
    moment: "start",
    input: { ...vscode, hookEventName: "SessionStart", source: "new" },
    answer: inContext("SessionStart"),
  },
  { client: "vscode", moment: "compact", input: { ...vscode, hookEventName: "PreCompact", trigger: "auto" } },
  { client: "vscode", moment: "turn-end", input: { ...vscode, hookEventName: "Stop", stop_hook_active: false } },
  {
    client: "claude-code",
    sender: "vscode",
    moment: "start",
    input: { ...vscode, hookEventName: "SessionStart", source: "new" },
    answer: inContext("SessionStart"),
  },
  {
    client: "opencode",
    moment: "start",
    input: { ...opencode, hook_event_name: "session_start", source: "startup" },
    answer: (text) => ({ text }),
  },
  {
    client: "opencode",
    moment: "prompt",
    input: { ...opencode, hook_event_name: "prompt", prompt: question, turn_id: "msg_1" },
    answer: (text) => ({ text }),
  },
  {
    client: "opencode",
    moment: "compact",
    input: { ...opencode, hook_event_name: "compact", messages: [] },
    answer: () => ({ taken: true }),
  },
  {
    client: "opencode",
    moment: "turn-end",
    input: {
      ...opencode,
      hook_event_name: "stop",
      messages: [{ id: "msg_1", role: "user", text: "Do it.", at: "2026-05-01T08:00:00Z" }],
    },
    answer: () => ({ taken: true }),
  },
];

/** What is no event of any client. */
export const garbage: readonly string[] = [
  "",
  " ",
  "null",
  "[]",
  "42",
  '"SessionStart"',
  "{",
  '{"hook_event_name":"SessionStart"}',
  '{"session_id":"x"}',
  '{"session_id":1,"hook_event_name":"SessionStart"}',
  '{"session_id":"x","hook_event_name":"Nothing"}',
  '{"session_id":"x","hook_event_name":["SessionStart"]}',
  '{"session_id":"","hook_event_name":"SessionStart"}',
  `{"session_id":"${"x".repeat(1000)}","hook_event_name":"SessionStart"}`,
  '{"session_id":"x","hook_event_name":"UserPromptSubmit"}',
  '{"session_id":"x","hook_event_name":"UserPromptSubmit","prompt":{}}',
  '{"session_id":"x","hook_event_name":"Stop","transcript_path":"../../etc/passwd"}',
  '{"session_id":"x","hook_event_name":"Stop","transcript_path":"/dev/zero"}',
  '{"session_id":"x","hook_event_name":"Stop","transcript_path":"/"}',
  '{"session_id":"x","hook_event_name":"Stop","messages":[null,1,{},{"id":"a","role":"system","text":"x"}]}',
  '{"session_id":"../../x","hook_event_name":"SessionEnd","cwd":7}',
  '{"session_id":"x","agent_id":"sub","hook_event_name":"SessionStart"}',
  "\u0000\u0001\uFFFD".repeat(1000),
  "<html>".repeat(10_000),
  "[".repeat(100_000),
];
