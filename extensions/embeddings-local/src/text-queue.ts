/** One text that is to be embedded. */
interface QueuedText {
  /** Of the request that it came with. */
  id: number;
  /** Its place in the request. */
  index: number;
  text: string;
  query: string | undefined;
}

/** Texts that wait for a context. */
export interface TextQueue {
  /** Urgent ones, as the query of somebody who waits, go before the notes of a sync. */
  add(request: { id: number; texts: readonly string[]; urgent: boolean; query?: string | undefined }): void;
  /** Drops what waits of a request. */
  cancel(id: number): void;
  /** The next text, as soon as there is one. */
  next(): Promise<QueuedText>;
}

export function createTextQueue(): TextQueue {
  let urgent: QueuedText[] = [];
  let others: QueuedText[] = [];
  const idle: ((text: QueuedText) => void)[] = [];

  function take(): QueuedText | undefined {
    return urgent.shift() ?? others.shift();
  }

  return {
    add(request) {
      const queue = request.urgent ? urgent : others;
      for (const [index, text] of request.texts.entries())
        queue.push({ id: request.id, index, text, query: request.query });
      while (idle.length > 0) {
        const text = take();
        if (text === undefined) return;
        idle.shift()?.(text);
      }
    },
    cancel(id) {
      urgent = urgent.filter((text) => text.id !== id);
      others = others.filter((text) => text.id !== id);
    },
    next() {
      const text = take();
      return text === undefined ? new Promise((resolve) => idle.push(resolve)) : Promise.resolve(text);
    },
  };
}
