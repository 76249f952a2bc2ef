/**
 * What an agent host needs of this package. It stands apart so that a host does not load what makes an index before there
 * is one to make.
 */
export { journalFileName, journalFolder } from "./journal/journal-folder.ts";
export { redactLines } from "./redact-secrets.ts";
export { sessionsFolder } from "./sessions/sessions-folder.ts";
export { estimateTokens } from "./token-weight.ts";
export { stopWords } from "./stop-words.ts";
export { scanTerms } from "./words.ts";
