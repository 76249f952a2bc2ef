export type { ChatModel, ModelReply, ModelRequest } from "./chat-model.ts";
export { chooseModel } from "./choose-model.ts";
export { type ModelTasks, fixedTokens, modelTasks, tokensOf } from "./model-tasks.ts";
export { runToolLoop } from "./tool-loop.ts";
