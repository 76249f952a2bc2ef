import type { Transformer } from "node:stream/web";

/** Reads the body of one answer as server-sent events, whatever the endpoint made of the wish for them. */
export interface EventReader {
  /** The same answer with nothing in its body but events that every SDK understands. */
  read(response: Response): Response;
  /** True after `[DONE]`, or after one JSON text in place of a stream. */
  isComplete(): boolean;
}

/** `onBytes` is called at every sign of life; some servers send comments only to be known alive. */
export function createEventReader(onBytes: () => void): EventReader {
  const decoder = new TextDecoder();
  const encoder = new TextEncoder();
  let kind: "events" | "json" | undefined;
  let held = "";
  let complete = false;

  /** Gives the whole lines of what is held. A line end may have come with its first half only. */
  const takeLines = (atEnd: boolean): string => {
    const lines = held.split(/\r\n|\n|\r(?!$)/);
    held = atEnd ? "" : (lines.pop() ?? "");
    complete ||= lines.some((line) => /^data: ?\[DONE\]\s*$/.test(line));
    return lines.map((line) => (/^(?:data|event):|^\s*$/.test(line) ? `${line}\n` : "")).join("");
  };

  const wholeJson = (): string => {
    const frames = [JSON.parse(held)].flat();
    complete = true;
    return frames.map((frame) => `data: ${JSON.stringify(frame)}\n\n`).join("");
  };

  const transformer: Transformer<Uint8Array, Uint8Array> = {
    transform(chunk, controller) {
      onBytes();
      held += decoder.decode(chunk, { stream: true });
      // The first character tells more than the content type does.
      const [first] = held.trimStart();
      if (kind === undefined && first === "<") throw new Error(held);
      if (first !== undefined) kind ??= first === "{" || first === "[" ? "json" : "events";
      if (kind === "events") controller.enqueue(encoder.encode(takeLines(false)));
    },
    flush(controller) {
      if (kind === undefined) throw new Error("an empty answer");
      // One SDK overlooks an event without a blank line behind it.
      controller.enqueue(encoder.encode(kind === "json" ? wholeJson() : `${takeLines(true)}\n\n`));
    },
  };

  return {
    isComplete: () => complete,
    read: ({ body, status }) => {
      onBytes();
      if (body === null) throw new Error("an empty answer");
      const stream = body.pipeThrough(new TransformStream(transformer));
      return new Response(stream, { status, headers: { "content-type": "text/event-stream" } });
    },
  };
}
