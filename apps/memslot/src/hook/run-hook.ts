import type { Memory } from "@memslot/core";
import type { ClientId } from "../connect/client.ts";
import type { RecallMode } from "../connect/recall-mode.ts";
import { answerOf, hears, takenAnswer } from "./answer.ts";
import { type HookPlace, capture, captureRest, digest, projectOf } from "./capture.ts";
import type { HookEvent } from "./hook-event.ts";
import { linesShown } from "./shown-lines.ts";
import { startText } from "./start-text.ts";
import { recallText } from "./recall-text.ts";

export interface HookRun extends HookPlace {
  readonly recall: RecallMode;
  /** Nothing of what is said is kept. */
  readonly readOnly: boolean;
  readonly withMemory: (use: (memory: Memory) => Promise<string>) => Promise<string>;
  /** Has the digests written that are due, in a process of its own that nobody waits for. */
  readonly finishLater: () => void;
}

/** A session of which nothing was heard for so long is over, whether its client said so or not. */
const idleMs = 30 * 60 * 1000;

/** Does what is to be done at an event, and gives what is to be printed; undefined for nothing. */
export async function runHook(event: HookEvent, run: HookRun): Promise<string | undefined> {
  if (!run.states.claim(event)) return undefined;
  switch (event.moment) {
    case "start":
      return await onStart(event, run);
    case "prompt":
      return await onPrompt(event, run);
    case "compact":
      if (run.readOnly) return takenAnswer(event);
      await capture(event, run);
      await onCompaction(event, run);
      return takenAnswer(event);
    case "turn-end":
      if (!run.readOnly) await capture(event, run);
      return takenAnswer(event);
    case "end":
      if (run.readOnly) return undefined;
      // The client waits for little more than a second: what was said is safe, and the rest goes on behind.
      await capture(event, run);
      run.finishLater();
      return undefined;
  }
}

async function onStart(event: HookEvent, run: HookRun): Promise<string | undefined> {
  const due = run.states.waiting(idleMs);
  if (!run.readOnly && due.length > 0) run.finishLater();
  if (!hears(event)) return undefined;
  return await run.states.change(event, async (before) => {
    const { source = "startup" } = event;
    const state = { ...before, project: before.project ?? projectOf(event.cwd) };
    // A conversation that goes on still has what it began with.
    if (source === "resume" && before.shown.length > 0) return { state, result: undefined };
    const { dropped, ...rest } = state;
    const { agent, readOnly } = run;
    const text = await startText({ agent, now: run.now(), readOnly, project: state.project, dropped });
    // What was shown before went with the context that was dropped or cleared.
    return { state: { ...rest, shown: linesShown(text) }, result: answerOf(event, text) };
  });
}

async function onPrompt(event: HookEvent, run: HookRun): Promise<string | undefined> {
  const { prompt = "" } = event;
  if (run.recall === "off" || prompt === "" || !hears(event)) return undefined;
  const shown = new Set(run.states.read(event.client, event.sessionId).shown);
  const text = await run.withMemory((memory) =>
    recallText(memory, prompt, { mode: run.recall, shown, signal: run.signal }),
  );
  if (text === "") return undefined;
  await run.states.change(event, async (state) => ({
    state: { ...state, shown: [...state.shown, ...linesShown(text)] },
    result: undefined,
  }));
  return answerOf(event, text);
}

async function onCompaction(event: HookEvent, run: HookRun): Promise<void> {
  const dropped = await digest(event, run);
  if (dropped === undefined) return;
  await run.states.change(event, async (state) => ({ state: { ...state, dropped, shown: [] }, result: undefined }));
}

/**
 * Takes what is left of the transcript of one session, named `client:session`, and writes its digest; then the same for those
 * of which nothing was heard for long.
 */
export async function finishSessions(place: HookPlace, ended: string): Promise<void> {
  const colon = ended.indexOf(":");
  const own = place.states.read(ended.slice(0, colon) as ClientId, ended.slice(colon + 1));
  const isKnown = own.waits === true || own.transcript !== undefined;
  for (const state of [...(isKnown ? [own] : []), ...place.states.waiting(idleMs)]) {
    await captureRest(state, place);
    await digest(state, place);
  }
}
