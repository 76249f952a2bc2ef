export const hostPipe = 4;

export interface LoadRequest {
  type: "load";
  llama: string;
  modelPath: string;
  contexts: number;
  threads: number;
  contextSize: number;
  /** Texts are scored for a query instead of getting vectors. */
  ranks?: boolean | undefined;
}

export type ToChild =
  | LoadRequest
  /** Each text has its own answer. `urgent` texts go first. With `query` the vector is one score, 0 to 1. */
  | { type: "embed"; id: number; texts: readonly string[]; urgent: boolean; query?: string | undefined }
  | { type: "cancel"; id: number };

export type FromChild =
  | ({ type: "loaded" } & LoadedModel)
  | { type: "failed"; message: string }
  /** `index` of the text in the request; `tokens` of it that were embedded. */
  | { type: "vector"; id: number; index: number; vector: Float32Array; tokens: number }
  /** A text was not embedded; the other texts of its request get no answer. */
  | { type: "refused"; id: number; message: string };

export interface LoadedModel {
  dimensions: number;
  /** Token limit of a text; longer ones are cut. */
  maxInputTokens: number;
}
