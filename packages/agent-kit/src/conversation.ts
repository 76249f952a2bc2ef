/** What a model asked to have run; `arguments` is the JSON text that it wrote, unchecked. */
export interface ToolCall {
  readonly id: string;
  readonly name: string;
  readonly arguments: string;
}

interface Said {
  /** Unique within a session. The same id twice is the same message. */
  readonly id: string;
  /** When, as ISO text. */
  readonly at: string;
}

export interface UserMessage extends Said {
  readonly role: "user";
  readonly text: string;
}

export interface AssistantMessage extends Said {
  readonly role: "assistant";
  /** Empty where it only asked for tools. */
  readonly text: string;
  readonly toolCalls?: readonly ToolCall[] | undefined;
}

/** What a tool gave back. */
export interface ToolMessage extends Said {
  readonly role: "tool";
  readonly toolCallId: string;
  readonly toolName: string;
  readonly text: string;
}

/** One message of a conversation, in no model's and no framework's terms. */
export type ConversationMessage = UserMessage | AssistantMessage | ToolMessage;

/** A message that has no id or time yet. */
export type NewMessage = Unsaid<UserMessage> | Unsaid<AssistantMessage> | Unsaid<ToolMessage>;

type Unsaid<M extends Said> = Omit<M, "id" | "at"> & Partial<Said>;
