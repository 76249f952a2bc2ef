import type { Hono } from "hono";
import { streamSSE } from "hono/streaming";
import type { UiEvent } from "../api-types.ts";
import type { EventHub } from "../server/event-hub.ts";
import type { SignedIn } from "../server/login.ts";

/** Events queued for a page that does not read; then its stream ends, and it reconnects. */
const mostWaiting = 100;
const quietMs = 15_000;

/** `GET /api/events`: a stream of `UiEvent`, which ends with the server or the token of its page. */
export function serveEvents(app: Hono, hub: EventHub, page: { signedIn: SignedIn; signal: AbortSignal }): void {
  app.get("/api/events", (context) =>
    streamSSE(context, async (stream) => {
      const waiting: UiEvent[] = [];
      const ended = new AbortController();
      let wake = (): void => undefined;
      const stopListening = hub.listen((event) => {
        waiting.push(event);
        if (waiting.length > mostWaiting) ended.abort();
        wake();
        return !ended.signal.aborted;
      });
      stream.onAbort(() => ended.abort());
      const over = AbortSignal.any([page.signal, ended.signal]);
      over.addEventListener("abort", () => wake(), { once: true });
      try {
        while (!over.aborted && page.signedIn(context)) {
          const event = waiting.shift();
          if (event !== undefined) await stream.writeSSE({ data: JSON.stringify(event) });
          else if (!(await wokenWithin((resolve) => (wake = resolve)))) await stream.write(": still here\n\n");
        }
      } finally {
        stopListening();
      }
    }),
  );
}

/** False: timeout. */
async function wokenWithin(onWake: (resolve: () => void) => void): Promise<boolean> {
  return await new Promise((resolve) => {
    const timer = setTimeout(() => resolve(false), quietMs);
    onWake(() => {
      clearTimeout(timer);
      resolve(true);
    });
  });
}
