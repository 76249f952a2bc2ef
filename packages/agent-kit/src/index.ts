// Of a file that is handed on whole (`*`), all that it exports is public.
export { type AppendNoteOptions, type AppendedNote, type NoteKind, appendNote } from "./notes/append-note.ts";
export type { ChangeKind, ChangeOutcome, Changer, LoggedChange, NoteChangeRecord } from "./edit/change-log.ts";
export {
  type EditNoteOptions,
  type EditedNote,
  type ForgetNoteOptions,
  editNote,
  forgetNote,
} from "./edit/edit-note.ts";
export type { ChangePlace } from "./edit/make-change.ts";
export { listChanges, restoreNote, undoChange } from "./edit/edit-note.ts";
export { type ImportedNotes, type ImportNotesOptions, type ImportState, importNotes } from "./imports/import-notes.ts";
export type { ImportedNote } from "./imports/imported-note.ts";
export { type LocalTime, localClock } from "./notes/local-day.ts";
export type { NoteContent } from "./edit/note-in-place.ts";
export { type ReplaceNoteOptions, type ReplacedNote, readNote, replaceNote } from "./edit/replace-note.ts";
export { type ChatType, type CitationsMode, formatCitation, parseCitation } from "./citations.ts";
export type * from "./conversation.ts";
export { type FlushMoment, flushPrompts, isNoReply } from "./flush/flush-prompts.ts";
export type { DropReceipt } from "./flush/memory-flush.ts";
export type { FlushReport } from "./flush/flush-record.ts";
export {
  type ConversationDigest,
  type ConversationJournal,
  type ConversationJournalOptions,
  openConversationJournal,
} from "./flush/conversation-journal.ts";
export type { ConversationOrigin } from "./flush/flush-digest.ts";
export type { FlushSession } from "./flush/flush-work.ts";
export type { FlushTurn } from "./flush/flush-turn.ts";
export { type MemoryFlush, type MemoryFlushOptions, createMemoryFlush } from "./flush/memory-flush.ts";
export { type FlushDecision, type FlushState, shouldFlush } from "./flush/should-flush.ts";
export {
  type McpTool,
  type McpToolAnnotations,
  type McpToolResult,
  toMcpResult,
  toMcpTools,
} from "./tools/tool-forms.ts";
export type * from "./tools/memory-tool.ts";
export {
  type AppendOptions,
  type EditOptions,
  type MemoryToolsOptions,
  createMemoryTools,
  editOptions,
} from "./tools/memory-tools.ts";
export { type OpenAiTool, runToolCall, toOpenAiTools } from "./tools/tool-forms.ts";
export {
  type MemoryCommands,
  type MemoryCommandsOptions,
  createMemoryCommands,
} from "./memory-tool/memory-commands.ts";
export { memoryPromptSection } from "./prompt/prompt-section.ts";
export { frameRecalled } from "./tools/recalled-text.ts";
export {
  type SessionStartContext,
  type SessionStartFile,
  type SessionStartOptions,
  type StartingSession,
  sessionStartContext,
} from "./prompt/session-start.ts";
export { type StartSessionOptions, startSession } from "./prompt/session-start.ts";
export {
  type CompactSessionOptions,
  type CompactionReport,
  type Summarize,
  compactSession,
} from "./session/compact-session.ts";
export { type ConversationTime, type ConversationTimes, conversationTimes } from "./transcripts/list-transcripts.ts";
export { handedOver } from "./session/model-context.ts";
export { type HandOver, type HandOvers, readHandOvers } from "./transcripts/hand-overs.ts";
export {
  type ListedTranscript,
  type ListTranscriptsOptions,
  type TranscriptList,
  describeTranscript,
  listTranscripts,
} from "./transcripts/list-transcripts.ts";
export {
  type TranscriptPage,
  type TranscriptPageOptions,
  type TranscriptShown,
  readTranscriptPage,
} from "./transcripts/read-transcript-page.ts";
export type { TranscriptRecall } from "./transcripts/recalls.ts";
export type { TranscriptCompaction, TranscriptFacts } from "./transcripts/scan-transcript.ts";
export type { ShownText } from "./transcripts/transcript-place.ts";
export type { TranscriptPlace } from "./transcripts/transcript-place.ts";
export { openSessions } from "./session/open-sessions.ts";
export {
  type DescribeSession,
  type SessionNote,
  type SessionNoteOptions,
  writeSessionNote,
} from "./session/session-note.ts";
export type * from "./session/session.ts";
