// Everything in a module with `export *` is public.
export { type ChatType, type CitationsMode, formatCitation, parseCitation } from "./citations.ts";
export type {
  AssistantMessage,
  ConversationMessage,
  NewMessage,
  ToolCall,
  ToolMessage,
  UserMessage,
} from "./conversation-messages.ts";
export { handedOver } from "./conversation-messages.ts";
export type {
  ChangeKind,
  ChangeOutcome,
  ChangePlace,
  Changer,
  LoggedChange,
  NoteChangeRecord,
} from "./edit/change-log.ts";
export {
  type EditNoteOptions,
  type EditedNote,
  type ForgetNoteOptions,
  createNote,
  deleteNote,
  editNote,
  forgetNote,
  listChanges,
  renameNote,
  restoreNote,
  undoChange,
} from "./edit/edit-note.ts";
export type { NoteContent, ReplaceNoteOptions, ReplacedNote } from "./edit/note-types.ts";
export { readNote, replaceNote } from "./edit/replace-note.ts";
export * from "./flush/conversation-journal.ts";
export type { ConversationOrigin } from "./flush/flush-digest.ts";
export { type FlushMoment, flushPrompts, isNoReply } from "./flush/flush-prompts.ts";
export type { FlushModel, FlushReport } from "./flush/save-messages.ts";
export type { FlushTurn } from "./flush/flush-turn.ts";
export * from "./flush/memory-flush.ts";
export * from "./imports/import-notes.ts";
export type { ImportedNote } from "./imports/imported-note.ts";
export * from "./memory-tool/memory-commands.ts";
export { type AppendNoteOptions, type AppendedNote, type NoteKind, appendNote } from "./edit/append-note.ts";
export { type LocalTime, localClock } from "./edit/local-day.ts";
export * from "./prompt/prompt-section.ts";
export * from "./prompt/session-start.ts";
export * from "./session/compact-session.ts";

export * from "./session/agent-sessions.ts";
export * from "./session/session-note.ts";
export type * from "./session/session-types.ts";
export type * from "./tools/tool-types.ts";
export * from "./tools/memory-tools.ts";
export { frameRecalled } from "./tools/recalled-text.ts";
export * from "./tools/tool-formats.ts";
export * from "./transcripts/compacted-messages.ts";
export type { TranscriptCompaction, TranscriptFacts, TranscriptRecall } from "./transcripts/transcript-facts.ts";
export * from "./transcripts/transcript-list.ts";
export { readTranscriptPage } from "./transcripts/transcript-page.ts";
export type {
  ShownText,
  TranscriptPage,
  TranscriptPageOptions,
  TranscriptPlace,
  TranscriptShown,
} from "./transcripts/transcript-types.ts";
