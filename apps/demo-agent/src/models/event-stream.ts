import type { Transformer } from "node:stream/web";

export interface EventReader {
  read(response: Response): Response;
  isComplete(): boolean;
}

/** `onBytes` is called for all bytes; some servers send comments as keep-alive. */
export function createEventReader(onBytes: () => void): EventReader {
  const decoder = new TextDecoder();
  const encoder = new TextEncoder();
  let kind: "events" | "json" | undefined;
  let held = "";
  let complete = false;

  /** Returns whole lines of the buffer. It may end in the middle of a line end. */
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
      // The first character is more reliable than the content type.
      const [first] = held.trimStart();
      if (kind === undefined && first === "<") throw new Error(held);
      if (first !== undefined) kind ??= first === "{" || first === "[" ? "json" : "events";
      if (kind === "events") controller.enqueue(encoder.encode(takeLines(false)));
    },
    flush(controller) {
      if (kind === undefined) throw new Error("an empty answer");
      // One SDK ignores an event without a blank line after it.
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
