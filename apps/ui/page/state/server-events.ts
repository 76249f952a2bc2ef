import { signal } from "@preact/signals";
import type { UiEvent } from "../../src/api-types.ts";
import { send, facts, lookAgain, session } from "./api-client.ts";
import { refetch } from "./queries.ts";

type Status = Extract<UiEvent, { type: "status" }>["status"];

/** The latest state of the memory. */
export const status = signal<Status | undefined>(undefined);
/** The running check of all files; without progress while it scans them. */
export const syncing = signal<Extract<UiEvent, { type: "sync" }> | undefined>(undefined);

const lockName = "memslot-events";
const retryMs = 1500;

/** Listens to the server. One page holds the stream for all: a browser allows six connections to a server. */
export function listenToServer(): void {
  const channel = new BroadcastChannel(lockName);
  channel.addEventListener("message", ({ data }: MessageEvent<UiEvent | "hello" | "ended" | undefined>) => {
    if (data === "ended") void lookAgain();
    else if (data !== "hello" && data !== undefined) take(data);
    else if (status.value !== undefined && isListening)
      for (const event of [{ type: "status", status: status.value } as const, syncing.value])
        channel.postMessage(event);
  });
  let isListening = false;
  // Held until this page is closed.
  void navigator.locks.request(lockName, async () => {
    const tell = (event: UiEvent): void => {
      take(event);
      channel.postMessage(event);
    };
    isListening = true;
    for (let isMissed = false; ; isMissed = true) {
      await readEvents((event) => {
        tell(event);
        // What changed while there was no stream was not reported.
        if (isMissed) tell({ type: "changed" });
        isMissed = false;
      }).catch(() => undefined);
      channel.postMessage("ended");
      await lookAgain();
      await new Promise((resolve) => setTimeout(resolve, retryMs));
    }
  });
  channel.postMessage("hello");

  // A page without the stream checks by itself whether the server is back.
  setInterval(() => {
    if (session.value !== "open") void lookAgain();
  }, retryMs);
}

/** Reads the event stream to its end. An `EventSource` cannot send the token. */
async function readEvents(onEvent: (event: UiEvent) => void): Promise<void> {
  const { ok, body } = await send("/api/events");
  const reader = ok ? body?.pipeThrough(new TextDecoderStream()).getReader() : undefined;
  let text = "";
  for (let part = await reader?.read(); part?.value !== undefined; part = await reader?.read()) {
    const events = (text + part.value).split("\n\n");
    text = events.pop() ?? "";
    for (const event of events) if (event.startsWith("data: ")) onEvent(JSON.parse(event.slice(6)) as UiEvent);
  }
}

function take(event: UiEvent): void {
  if (event.type === "changed") refetch();
  else if (event.type === "sync") {
    syncing.value = event.done ? undefined : event;
    // Until now the index answered as it was.
    if (event.done) refetch();
  } else {
    status.value = event.status;
    if (session.value === "offline" && facts.value !== undefined) session.value = "open";
  }
}
