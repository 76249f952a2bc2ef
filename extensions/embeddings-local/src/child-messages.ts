// Messages between `model-process.ts` and `child.ts`.

export interface LoadRequest {
  llama: string;
  modelPath: string;
  contexts: number;
  threads: number;
  contextSize: number;
  /** Texts are scored for a query instead of getting vectors. */
  ranks?: boolean | undefined;
}

export interface LoadedModel {
  dimensions: number;
  /** Token limit of a text; longer ones are cut. */
  maxInputTokens: number;
}

export type ToChild =
  | ({ type: "load" } & LoadRequest)
  /** Each text has its own answer. `urgent` texts go first. With `query` the vector is one score, 0 to 1. */
  | { type: "embed"; id: number; texts: readonly string[]; urgent: boolean; query?: string | undefined }
  | { type: "cancel"; id: number };

export type FromChild =
  | ({ type: "loaded" } & LoadedModel)
  /** `index` of the text in the request; `tokens` of it that were embedded. */
  | { type: "vector"; id: number; index: number; vector: Float32Array; tokens: number }
  /** A text was not embedded; the other texts of its request get no answer. `id` 0: the model cannot be loaded. */
  | { type: "failed"; id: number; message: string };
