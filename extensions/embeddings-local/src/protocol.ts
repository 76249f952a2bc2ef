/** The pipe that the host holds the other end of, behind the three of every process and the channel. */
export const hostPipe = 4;

/** What the process with the model is told at its start. */
export interface LoadRequest {
  type: "load";
  /** The entry of node-llama-cpp, as a URL. */
  llama: string;
  modelPath: string;
  contexts: number;
  threads: number;
  contextSize: number;
  /** True: texts are scored by a query, in place of getting vectors. */
  ranks?: boolean | undefined;
}

export type ToChild =
  | LoadRequest
  /**
   * Each text is answered by a message of its own. `urgent` ones go before those that wait. With a query the vector is of
   * one number: how well the text answers it, 0 to 1.
   */
  | { type: "embed"; id: number; texts: readonly string[]; urgent: boolean; query?: string | undefined }
  /** Nobody waits for this request any more. */
  | { type: "cancel"; id: number };

export type FromChild =
  | ({ type: "loaded" } & LoadedModel)
  /** The model was not loaded. */
  | { type: "failed"; message: string }
  /** `index` counts the texts of the request, `tokens` those of the text that were embedded. */
  | { type: "vector"; id: number; index: number; vector: Float32Array; tokens: number }
  /** A text was not embedded; the others of its request are not answered any more. */
  | { type: "refused"; id: number; message: string };

export interface LoadedModel {
  dimensions: number;
  /** Tokens that one text may have; what is longer is cut. */
  maxInputTokens: number;
}
