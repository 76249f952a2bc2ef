import { existsSync } from "node:fs";
import type { ClientId, Memory } from "@memslot/core";
import { agentOf } from "@memslot/indexing/host";
import { type HookEvent, type RecallMode, answerOf, startsAtPrompt, storedAnswer } from "./read-event.ts";
import { linesShown, recallText, startText } from "./shown-text.ts";
import { type HookPlace, digest, projectOf, storeMessages, storeRest } from "./store-messages.ts";

export interface HookRun extends HookPlace {
  readonly recall: RecallMode;
  /** Stores no messages. */
  readonly readOnly: boolean;
  /** Handles the event although it is marked as handled. */
  readonly again: boolean;
  readonly withMemory: (use: (memory: Memory) => Promise<string>) => Promise<string>;
  /** Writes pending digests in a detached process. */
  readonly finishLater: () => void;
}

/** Handles an event. Returns the text to print, if any. */
export async function runHook(event: HookEvent, run: HookRun): Promise<string | undefined> {
  if (isEmpty(event, run)) return undefined;
  // A resumed session may end a second time before equal events count as new.
  const endsAgain = event.moment === "end" && run.states.isRunning(event);
  if (!run.states.claim(event) && !endsAgain && !run.again) return undefined;
  run.states.mark(event);
  switch (event.moment) {
    case "start":
      return await onStart(event, run);
    case "prompt":
      return await onPrompt(event, run);
    case "compact":
      if (!run.readOnly) {
        await storeMessages(event, run);
        await onCompaction(event, run);
      }
      return storedAnswer(event);
    case "turn-end":
      if (!run.readOnly) await storeMessages(event, run);
      return storedAnswer(event);
    case "end":
      if (run.readOnly) return undefined;
      // Agents wait for little more than a second: the messages are stored, the digest is written in the background.
      await storeMessages(event, run);
      run.finishLater();
      return undefined;
  }
}

/** The end of a session without messages: some agents send one for every command, such as `claude mcp list`. */
function isEmpty({ moment, client, sessionId, messages, transcript }: HookEvent, { states }: HookRun): boolean {
  if (moment !== "end" || messages.length > 0 || states.knows({ client, sessionId })) return false;
  return transcript === undefined || !existsSync(transcript);
}

async function onStart(event: HookEvent, run: HookRun): Promise<string | undefined> {
  const due = run.states.waiting();
  if (!run.readOnly && due.length > 0) run.finishLater();
  const isLater = startsAtPrompt(event);
  if (answerOf(event, "x") === undefined && !isLater) return undefined;
  return await run.states.change(event, async (before) => {
    const { source = "startup" } = event;
    const state = { ...before, project: before.project ?? projectOf(event.cwd) };
    const isKept = agentOf(event.shape).hooks?.resumesWithoutStart !== true;
    // Most resumed conversations still contain their start text.
    if (source === "resume" && isKept && before.shown.length > 0) return { state, result: undefined };
    if (isLater) return { state: { ...state, started: undefined, shown: [] }, result: undefined };
    const { dropped, ...rest } = state;
    const { agent, readOnly } = run;
    const text = await startText({ agent, now: run.now(), readOnly, project: state.project, dropped });
    // Lines that were shown before are gone with the dropped or cleared context.
    return { state: { ...rest, shown: linesShown(text) }, result: answerOf(event, text) };
  });
}

async function onPrompt(event: HookEvent, run: HookRun): Promise<string | undefined> {
  const { prompt = "" } = event;
  if (prompt === "" || answerOf(event, "x") === undefined) return undefined;
  const before = run.states.read(event.client, event.sessionId);
  const { dropped, project } = before;
  const { agent, readOnly } = run;
  const needsStart = startsAtPrompt(event) && before.started !== true;
  const start = needsStart ? await startText({ agent, now: run.now(), readOnly, project, dropped }) : "";
  const shown = new Set([...before.shown, ...linesShown(start)]);
  const found =
    run.recall === "off"
      ? ""
      : await run.withMemory((memory) => recallText(memory, prompt, { mode: run.recall, shown, signal: run.signal }));
  const text = [start, found].filter((each) => each !== "").join("\n\n");
  if (text === "") return undefined;
  await run.states.change(event, async ({ dropped, ...state }) => ({
    state: {
      ...state,
      ...(start === "" ? { dropped } : { started: true }),
      shown: [...state.shown, ...linesShown(text)],
    },
    result: undefined,
  }));
  return answerOf(event, text);
}

/** Sessions that end and are resumed have digests already: what they cover is dropped too. */
async function onCompaction(event: HookEvent, run: HookRun): Promise<void> {
  await digest(event, run);
  await run.states.change(event, async (state) => {
    const { digested, ...rest } = state;
    if (digested === undefined) return { state, result: undefined };
    return { state: { ...rest, isCompacted: true, dropped: digested, shown: [] }, result: undefined };
  });
}

/** Stores the rest of a session, named `client:session`, and writes its digest; then the same for all idle sessions. */
export async function finishSessions(place: HookPlace, ended: string): Promise<void> {
  const colon = ended.indexOf(":");
  const own = place.states.read(ended.slice(0, colon) as ClientId, ended.slice(colon + 1));
  const isKnown = own.waits === true || own.transcript !== undefined;
  for (const state of [...(isKnown ? [own] : []), ...place.states.waiting()]) {
    await storeRest(state, place);
    await digest(state, place);
  }
}
