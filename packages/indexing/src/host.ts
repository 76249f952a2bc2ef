/**
 * What an agent host needs of this package. It stands apart so that a host does not load what makes an index before there
 * is one to make.
 */
export type { SaidLine } from "./sources/agents/agent.ts";
export { knownAgents } from "./sources/agents/known-agents.ts";
export { holdsNotes } from "./files/folder/holds-notes.ts";
export { isMarkdown } from "./files/folder/markdown-name.ts";
export { type NotesSurvey, surveyNotes } from "./files/folder/survey-notes.ts";
export { noteFile } from "./files/note-file.ts";
export { isUsualGap } from "./files/usual-gap.ts";
export { journalFileName, journalFolder, sessionsFolder } from "./sources/folders.ts";
export { redactLines, redactSecrets, secretsIn } from "./secrets/redact-secrets.ts";
export { ownTexts, stripInjected } from "./sources/strip-injected.ts";
export { readLines, type TranscriptLine } from "./sources/lines.ts";
export { connectMarkers, decodeText } from "./text/file-text.ts";
export { estimateTokens } from "./text/token-weight.ts";
export { stopWords } from "./text/languages/languages.ts";
export { scanTerms } from "./text/words.ts";
