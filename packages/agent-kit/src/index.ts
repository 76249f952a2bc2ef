export { type ChatType, type CitationsMode, formatCitation, parseCitation } from "./citations.ts";
export type {
  AssistantMessage,
  ConversationMessage,
  NewMessage,
  ToolCall,
  ToolMessage,
  UserMessage,
} from "./conversation.ts";
export type { MemoryTool, ToolInputSchema } from "./memory-tool.ts";
export { type MemoryToolsOptions, createMemoryTools } from "./memory-tools.ts";
export { type OpenAiTool, runToolCall, toOpenAiTools } from "./openai-tools.ts";
export { memoryPromptSection } from "./prompt-section.ts";
export {
  type SessionStartContext,
  type SessionStartFile,
  type SessionStartOptions,
  type StartingSession,
  sessionStartContext,
} from "./session-start.ts";
export { type StartSessionOptions, startSession } from "./start-session.ts";
