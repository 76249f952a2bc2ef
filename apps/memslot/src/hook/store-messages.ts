import { createHash } from "node:crypto";
import { constants } from "node:fs";
import { open } from "node:fs/promises";
import path from "node:path";
import { type ConversationJournal, type ConversationMessage, openConversationJournal } from "@memslot/agent-kit";
import type { AgentConfig, MemslotConfig } from "@memslot/core";
import { noFollow } from "@memslot/core/files";
import { agentOf, isObject, jsonOf, readLines, stripInjected } from "@memslot/indexing/host";
import type { HookEvent } from "./read-event.ts";
import { hashOf, type HookStates, type SessionKey, type SessionState } from "./session-state.ts";

export interface HookPlace {
  readonly config: MemslotConfig;
  readonly agent: AgentConfig;
  readonly states: HookStates;
  readonly now: () => Date;
  readonly signal: AbortSignal;
}

type Said = Pick<HookEvent, "client" | "sessionId" | "cwd" | "transcript" | "messages">;

/** How long an event continues to read a transcript. The rest is read by the next event or at the end of the session. */
const readOnMs = 400;
/** The new lines of a transcript are read in parts of this size. */
const partBytes = 4 * 1024 * 1024;
const maxTold = 400;
const maxCitations = 10;

/** Stores new messages in the journal, on disk before they are marked as read; the journal drops duplicates. */
export async function storeMessages(said: Said, place: HookPlace, forMs: number = readOnMs): Promise<void> {
  const until = performance.now() + forMs;
  while ((await storePart(said, place)) && performance.now() < until) place.signal.throwIfAborted();
}

/** Stores the messages of a transcript that the events of its session have not read. */
export async function storeRest({ client, sessionId, transcript }: SessionState, place: HookPlace): Promise<void> {
  if (transcript === undefined) return;
  await storeMessages({ client, sessionId, transcript: transcript.file, messages: [] }, place, Infinity);
}

async function storePart(said: Said, place: HookPlace): Promise<boolean> {
  return await place.states.change(said, async (before) => {
    const state = { ...before, project: before.project ?? projectOf(said.cwd) };
    const part = await newMessages(said, state, place.now());
    const { transcript, hasRest, told, compaction } = part;
    const journal = await journalOf(state, place);
    const added = (await journal?.add(part.messages)) ?? 0;
    const waits = state.waits === true || added > 0 || hasRest;
    const after = { ...state, transcript, told, waits };
    if (compaction === undefined) return { state: after, result: hasRest };
    const { digested, ...lasting } = await withDigest(after, journal, place);
    // The digests also cover messages that are still in the context.
    const messages = Math.max(0, (digested?.messages ?? 0) - compaction.kept);
    const dropped = digested && { ...digested, messages };
    return {
      state: { ...lasting, isCompacted: true, compaction: compaction.id, started: undefined, shown: [], dropped },
      result: hasRest,
    };
  });
}

/** Writes the pending digest of a session, and adds it to those since the last compaction. */
export async function digest(of: SessionKey, place: HookPlace): Promise<void> {
  await place.states.change(of, async (state) => ({
    state: await withDigest(state, await journalOf(state, place), place),
    result: undefined,
  }));
}

async function withDigest(
  state: SessionState,
  journal: ConversationJournal | undefined,
  { signal }: HookPlace,
): Promise<SessionState> {
  const written = await journal?.digest(signal);
  const waits = (journal?.waiting ?? 0) > 0;
  if (written === undefined) return { ...state, waits };
  const { messages, citations } = state.digested ?? { messages: 0, citations: [] };
  const digested = {
    messages: messages + written.messages,
    citations: [...citations, ...written.citations].slice(-maxCitations),
  };
  return { ...state, waits, digested };
}

async function journalOf(
  { client, sessionId, project }: SessionState,
  { agent, config, now }: HookPlace,
): Promise<ConversationJournal | undefined> {
  return await openConversationJournal({
    agent,
    stateDir: config.stateDir,
    // The session kind of work on the owner's behalf, which is not a chat of this agent.
    sessionKey: `agent:${agent.id}:hook:${client}-${sessionId.replaceAll(/[^\w-]/gu, "-")}`,
    from: { client, sessionId, project },
    clock: now,
  });
}

interface NewMessages extends Pick<SessionState, "transcript" | "told"> {
  readonly messages: readonly ConversationMessage[];
  readonly hasRest: boolean;
  /** The compaction after these messages. */
  readonly compaction?: { readonly id: string; readonly kept: number } | undefined;
}

async function newMessages(said: Said, state: SessionState, now: Date): Promise<NewMessages> {
  const { transcript, messages: sent } = said;
  const since = state.transcript;
  if (agentOf(said.client).conversations?.said === undefined) {
    // OpenCode sends all messages of its session again after a restart.
    const known = sent.findLastIndex(({ id }) => id === state.told?.[0]);
    const told = sent.length === 0 ? state.told : sent.slice(-1).map(({ id }) => id);
    return { messages: sent.slice(known + 1), transcript: since, hasRest: false, told };
  }
  if (transcript === undefined) return { messages: sent, transcript: since, hasRest: false };
  try {
    const part = await readNewPart(transcript, said, now, state);
    const left = [...(state.told ?? [])];
    const messages = part.messages.filter((message) => !takeOut(left, toldAs(message)));
    return { ...part, messages, told: part.hasRest && left.length > 0 ? left : undefined };
  } catch {
    // Some agents name a transcript that they write later or never: then the messages of the event count.
    if (since !== undefined) return { messages: [], transcript: since, hasRest: false };
    const told = [...(state.told ?? []), ...sent.map(toldAs)].slice(-maxTold);
    return { messages: sent, transcript: since, hasRest: false, told: told.length > 0 ? told : undefined };
  }
}

/** Identifies a message, whether it came with an event or from a transcript. */
function toldAs({ role, text }: ConversationMessage): string {
  return hashOf([role, text.trim()]);
}

function takeOut(left: string[], wanted: string): boolean {
  const index = left.indexOf(wanted);
  if (index >= 0) left.splice(index, 1);
  return index >= 0;
}

export function projectOf(cwd: string | undefined): string | undefined {
  const name = cwd === undefined ? "" : path.basename(cwd.replaceAll("\\", "/"));
  return name === "" ? undefined : name;
}

/**
 * The new messages of a transcript, until a compaction; all of them if the file was replaced. Throws what the file
 * system throws.
 */
async function readNewPart(
  file: string,
  session: SessionKey,
  now: Date,
  { transcript: since, compaction: known }: SessionState,
): Promise<NewMessages> {
  const handle = await open(file, constants.O_RDONLY | noFollow);
  try {
    const stats = await handle.stat();
    if (!stats.isFile()) throw new Error(`${file} is not a file`);
    const from = since?.file !== file || since.offset > stats.size ? 0 : since.offset;
    const messages = new Map<string, ConversationMessage>();
    let offset = from;
    let compaction: NewMessages["compaction"];
    for await (const lines of readLines(handle, from, stats.size)) {
      for (const line of lines.filter(({ ended }) => ended)) {
        offset = line.end;
        const value = jsonOf(line.bytes);
        if (!isObject(value)) continue;
        const message = messageIn(value, line.start, session, now);
        if (message !== undefined) messages.set(message.id, message);
        const found = agentOf(session.client).conversations?.compactionIn?.(value);
        if (found !== undefined && found.id !== known) compaction = found;
        if (compaction !== undefined) break;
      }
      if (compaction !== undefined || offset - from >= partBytes) break;
    }
    const hasRest = (compaction !== undefined || offset - from >= partBytes) && offset < stats.size;
    return { messages: [...messages.values()], transcript: { file, offset }, hasRest, compaction };
  } finally {
    await handle.close();
  }
}

function messageIn(
  line: Record<string, unknown>,
  start: number,
  { client, sessionId }: SessionKey,
  now: Date,
): ConversationMessage | undefined {
  const said = agentOf(client).conversations?.said?.(line);
  const text = said === undefined ? "" : stripInjected(said.text, said.role);
  if (said === undefined || text.trim() === "") return undefined;
  const at = said.at !== undefined && !Number.isNaN(Date.parse(said.at)) ? said.at : now.toISOString();
  return { role: said.role, text, id: (said.id ?? idAt(sessionId, start, text)).slice(0, 200), at };
}

/** The id of a message without one: its place and text, so that it is the same when it is read again. */
function idAt(sessionId: string, offset: number, text: string): string {
  const parts = JSON.stringify([sessionId, offset, text]);
  return createHash("sha256").update(parts).digest("hex").slice(0, 32);
}
