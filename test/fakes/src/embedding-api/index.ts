export { startEmbeddingApi } from "./server.ts";
export { type ApiRequest, type EmbeddingApi, type EmbeddingApiOptions } from "./options.ts";
export { type ApiFault } from "./faults.ts";
export { type Quirk, quirks } from "./quirks.ts";
