export { answerLines, limitAnswer, smallAnswerBytes, vectorAnswerBytes } from "./answer-size.ts";
export { type FoundKey, checkHeader, checkKey } from "./check-credentials.ts";
export { childEnvironment, networkVariables } from "./child-environment.ts";
export { type ModelPrefixes, modelPrefixes } from "./model-prefixes.ts";
export { networkFailure, request } from "./request.ts";
