import path from "node:path";
import { type ConversationJournal, type ConversationMessage, openConversationJournal } from "@memslot/agent-kit";
import type { AgentConfig, MemslotConfig } from "@memslot/core";
import type { HookEvent } from "./hook-event.ts";
import type { HookStates, SessionState } from "./session-state.ts";
import { readNewPart } from "./transcripts/new-part.ts";
import { readsTranscripts } from "./transcripts/transcript-line.ts";

export interface HookPlace {
  readonly config: MemslotConfig;
  readonly agent: AgentConfig;
  readonly states: HookStates;
  readonly now: () => Date;
  readonly signal: AbortSignal;
}

/** Ids that a session has handed over: of a client that tells what was said with its events. */
type Told = Pick<SessionState, "client" | "sessionId">;

/**
 * Takes what was said since the last event into the journal, on disk when it resolves. Only then is it known as read: what
 * a process leaves behind that is ended in between is taken again, and not twice. Gives how many messages were new.
 */
export async function capture(event: HookEvent, place: HookPlace): Promise<number> {
  const { states, now } = place;
  return await states.change(event, async (before) => {
    const state = { ...before, project: before.project ?? projectOf(event.cwd) };
    const { messages, transcript } = await newMessages(event, state, now());
    const journal = await journalOf(state, place);
    const added = (await journal?.add(messages)) ?? 0;
    return { state: { ...state, transcript, waits: state.waits === true || added > 0 }, result: added };
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
  event: HookEvent,
  state: SessionState,
  now: Date,
): Promise<{ messages: readonly ConversationMessage[]; transcript: SessionState["transcript"] }> {
  const { client, sessionId, transcript } = event;
  const since = state.transcript;
  if (transcript === undefined || !readsTranscripts(client)) return { messages: event.messages, transcript: since };
  try {
    const part = await readNewPart(transcript, client, { sessionId, now, since });
    return { messages: part.messages, transcript: part.place };
  } catch {
    // Some clients name a transcript that they write later or never: what came with the event is what there is.
    return { messages: since === undefined ? event.messages : [], transcript: since };
  }
}

/** What a folder is called: the name of what is worked on. */
export function projectOf(cwd: string | undefined): string | undefined {
  const name = cwd === undefined ? "" : path.basename(cwd.replaceAll("\\", "/"));
  return name === "" ? undefined : name;
}
