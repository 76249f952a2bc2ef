import path from "node:path";
import { type ConversationJournal, type ConversationMessage, openConversationJournal } from "@memslot/agent-kit";
import type { AgentConfig, MemslotConfig } from "@memslot/core";
import type { HookEvent } from "./hook-event.ts";
import { hashOf, type HookStates, type SessionState } from "./session-state.ts";
import { readNewPart, readsTranscripts } from "./new-part.ts";

export interface HookPlace {
  readonly config: MemslotConfig;
  readonly agent: AgentConfig;
  readonly states: HookStates;
  readonly now: () => Date;
  readonly signal: AbortSignal;
}

/** Ids that a session has handed over: of a client that tells what was said with its events. */
type Told = Pick<SessionState, "client" | "sessionId">;

/** What was said, or where it stands. */
type Said = Pick<HookEvent, "client" | "sessionId" | "cwd" | "transcript" | "messages">;

/** So long an event reads on in a transcript, part by part. The rest is left to the next event and to the session's end. */
const readOnMs = 400;
const maxTold = 400;

/**
 * Takes what was said since the last event into the journal, on disk when it resolves. Only then is it known as read: what
 * a process leaves behind that is ended in between is taken again, and not twice.
 */
export async function capture(said: Said, place: HookPlace, forMs: number = readOnMs): Promise<void> {
  const until = performance.now() + forMs;
  while ((await capturePart(said, place)) && performance.now() < until) place.signal.throwIfAborted();
}

/** Takes what the events of a session have left unread in its transcript. */
export async function captureRest({ client, sessionId, transcript }: SessionState, place: HookPlace): Promise<void> {
  if (transcript === undefined) return;
  await capture({ client, sessionId, transcript: transcript.file, messages: [] }, place, Infinity);
}

/** Gives whether more is to be read. */
async function capturePart(said: Said, place: HookPlace): Promise<boolean> {
  return await place.states.change(said, async (before) => {
    const state = { ...before, project: before.project ?? projectOf(said.cwd) };
    const { messages, transcript, hasRest, told } = await newMessages(said, state, place.now());
    const journal = await journalOf(state, place);
    const added = (await journal?.add(messages)) ?? 0;
    const waits = state.waits === true || added > 0 || hasRest;
    return { state: { ...state, transcript, told, waits }, result: hasRest };
  });
}

/** Writes the digest that a session is due. Gives what it was about. */
export async function digest(of: Told, place: HookPlace): Promise<SessionState["dropped"]> {
  return await place.states.change(of, async (state) => {
    const journal = await journalOf(state, place);
    const written = await journal?.digest(place.signal);
    const waits = (journal?.waiting ?? 0) > 0;
    const dropped =
      written === undefined ? undefined : { messages: written.messages, citations: written.citations.slice(0, 10) };
    return { state: { ...state, waits }, result: dropped };
  });
}

async function journalOf(
  state: SessionState,
  { agent, config, now }: HookPlace,
): Promise<ConversationJournal | undefined> {
  const { client, sessionId, project } = state;
  return await openConversationJournal({
    agent,
    stateDir: config.stateDir,
    // What runs on the owner's behalf: the kind of a session that is no chat of this agent itself.
    sessionKey: `agent:${agent.id}:hook:${client}-${sessionId.replaceAll(/[^\w-]/gu, "-")}`,
    from: { client, sessionId, project },
    clock: now,
  });
}

async function newMessages(
  said: Said,
  state: SessionState,
  now: Date,
): Promise<Pick<SessionState, "transcript" | "told"> & { messages: readonly ConversationMessage[]; hasRest: boolean }> {
  const { client, sessionId, transcript } = said;
  const since = state.transcript;
  if (transcript === undefined || !readsTranscripts(client))
    return { messages: said.messages, transcript: since, hasRest: false };
  try {
    const { place, messages, hasRest } = await readNewPart(transcript, client, { sessionId, now, since });
    const left = [...(state.told ?? [])];
    const added = messages.filter((message) => !takeOut(left, toldAs(message)));
    return { messages: added, transcript: place, hasRest, told: hasRest && left.length > 0 ? left : undefined };
  } catch {
    // Some clients name a transcript that they write later or never: what came with the event is what there is.
    if (since !== undefined) return { messages: [], transcript: since, hasRest: false };
    const told = [...(state.told ?? []), ...said.messages.map(toldAs)].slice(-maxTold);
    return { messages: said.messages, transcript: since, hasRest: false, told: told.length > 0 ? told : undefined };
  }
}

/** What was said, however it was learned of. */
function toldAs({ role, text }: ConversationMessage): string {
  return hashOf([role, text.trim()]);
}

/** Takes out the first one that is the same. Gives whether there was one. */
function takeOut(left: string[], wanted: string): boolean {
  const index = left.indexOf(wanted);
  if (index >= 0) left.splice(index, 1);
  return index >= 0;
}

/** What a folder is called: the name of what is worked on. */
export function projectOf(cwd: string | undefined): string | undefined {
  const name = cwd === undefined ? "" : path.basename(cwd.replaceAll("\\", "/"));
  return name === "" ? undefined : name;
}
