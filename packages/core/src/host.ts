export {
  isPoor,
  namedNotes,
  noNotes,
  reasonsOf,
  sentenceIn,
  skippedNotes,
  weakConfidence,
  withConditions,
  withReasons,
} from "./contract/health.ts";
export { createGlob, globProblem } from "./text/glob.ts";
export { didYouMean, nearestWord } from "./text/nearest-word.ts";
export { isDense, placeTokens, answerTokens, resultTokens } from "./text/result-tokens.ts";
export { hasOtherNames, isPrivateNote } from "./guard/audience.ts";
export { asSentence, joined, sentence, storedSentence } from "./contract/sentences.ts";
export { SentenceError, sentenceOf } from "./contract/errors.ts";
export { embeddingErrorOf } from "./contract/provider-error.ts";
export { isClientSource, clientOfPath, isConversation } from "./contract/config.ts";
export { agentIdProblem, agentsWithState, checkAgentPlace } from "./config/agent-ids.ts";
export {
  type ConfigEdit,
  fileToEdit,
  searchGroupIn,
  editConfigFile,
  changeConfigFile,
  editConfigText,
} from "./config/edit.ts";
export { foundOrigin, indexedBefore } from "./config/agent-settings.ts";
export { type PatternPlace, currentFolder, homeDir, patternPath, resolveStateDir } from "./config/paths.ts";
export { type ConfigReferenceRow, configReference } from "./config/keys.ts";
export { type TrustRecord, listTrusted, revokeTrust, trustConfig } from "./config/trust.ts";
export { timeForms, whyTarget } from "./guard/arguments.ts";
export { passMemoryCalls } from "./guard/call-table.ts";
export { EmbeddingOpeners } from "./open/open-plugin.ts";
export { checkWorkspace } from "./open/check-workspace.ts";
export { installedPluginsDir } from "./config/plugin-packages.ts";
export { type DisabledPlugin, memoryState, resolveMemorySlot } from "./open/choose-memory-plugin.ts";
export { discoverPlugins } from "./plugins/discover.ts";
export {
  type BrokenPlugin,
  type FoundPlugin,
  type FoundPlugins,
  type OfferedPlugin,
  forbiddenBy,
  offeredPlugins,
} from "./plugins/known-plugins.ts";
export { nameFromVisible, unseenCharacter } from "./text/visible-text.ts";
export { type Tell, hasListener, traceCall } from "./debug/trace-call.ts";
export { type Cooldown, createCooldown, lazily, SerialQueue } from "./async-helpers.ts";
