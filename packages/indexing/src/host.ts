/** For agent hosts: loads nothing that builds an index. */
export type {
  Agent,
  AgentFile,
  ConnectedFiles,
  Connection,
  ConnectScope,
  HookMoment,
  SaidLine,
} from "./agents/agent.ts";
export { agentOf, agents, momentOf } from "./agents/index.ts";
export { holdsNotes, isMarkdown } from "./scan/folder-rules.ts";
export { isUsualGap, noteFile, type NotesSurvey, surveyNotes } from "./scan/survey-notes.ts";
export {
  idleSessionMs,
  journalFileName,
  journalFolder,
  type RunningMark,
  runningFolder,
  sessionsFolder,
} from "./sources/session-folders.ts";
export { redactLines, redactSecrets, secretsIn } from "./secrets/redact-secrets.ts";
export { connectMarkers, ownTexts, stripInjected } from "./text/strip-injected.ts";
export { isObject, type JsonObject, jsonOf, textAt } from "./json-values.ts";
export { readLines, textOf, timeOf, type TranscriptLine } from "./sources/transcript-lines.ts";
export { decodeText } from "./text/file-text.ts";
export { estimateTokens } from "./text/split-by-tokens.ts";
export { isFunctionWord, stopWords } from "./text/languages/detect-language.ts";
export { scanTerms } from "./text/index-terms.ts";
