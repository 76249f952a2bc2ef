/** Whoever answers in the chat: a language model, or the built-in responder. */
export interface Answerer {
  /**
   * The answer as text for people. Throws an error with a message of one line when there is none, after which the chat
   * goes on, and an `AbortError` when aborted.
   */
  answer(question: string, options: { signal: AbortSignal }): Promise<string>;
}
