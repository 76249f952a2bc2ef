import { randomBytes } from "node:crypto";
import { mkdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import { editNote, forgetNote, openSessions, readNote, type Session } from "@memslot/agent-kit";
import { type EmbeddingProvider, parseConfig, openMemory } from "@memslot/core";
import openai from "@memslot/embeddings-openai";
import memoryCore from "@memslot/memory-core";
import { createWorkspace } from "@memslot/test-tools/files";
import { onTestFinished } from "vitest";
import { serveUi, type UiHost } from "../../src/index.ts";
import { builtPage } from "./build-page.ts";

export interface UiServer {
  /** With the secret in its fragment. */
  url: string;
  origin: string;
  /** With the key that signs tokens. */
  keyFile: string;
  workspaceDir: string;
  host: UiHost;
  /** Ends it; the memory stays open. */
  stop(): Promise<void>;
  /** Serves again, on the same port or another one, as the command does that was started again. */
  restart(port?: number): Promise<void>;
}

export interface UiServerOptions {
  /** Notes by their paths below the workspace. */
  notes: Readonly<Record<string, string>>;
  readOnly?: boolean;
  /** Keys below `memorySearch`. */
  memorySearch?: Readonly<Record<string, unknown>>;
  /** Makes the vectors, in place of a plugin. */
  embeddings?: EmbeddingProvider;
  /** Beside `HOME`. */
  env?: Readonly<Record<string, string>>;
  /** The folder of the page; the built one if left out. */
  page?: string;
}

/** Serves the page over a memory of its own. Everything is removed after the test. */
export async function startUi({
  notes,
  readOnly = false,
  memorySearch = {},
  embeddings,
  env = {},
  page = builtPage(),
}: UiServerOptions): Promise<UiServer> {
  const { folder, workspaceDir, stateDir } = createWorkspace(notes);
  const provider = embeddings === undefined ? { provider: "none" } : {};
  const defaults = { workspace: workspaceDir, memorySearch: { ...provider, ...memorySearch } };
  const config = parseConfig({ agents: { defaults } }, { stateDir, env: { ...env, HOME: folder } });
  const opening = { config, agentId: "main", plugins: [memoryCore, openai], embeddings, notify: () => undefined };
  const memory = await openMemory(opening);
  onTestFinished(() => memory.close());
  await memory.sync({ reason: "test" });
  const host: UiHost = {
    memory,
    config,
    agent: config.agent("main"),
    readOnly,
  };

  const keyFile = path.join(stateDir, "ui-key");
  mkdirSync(stateDir, { recursive: true });
  writeFileSync(keyFile, randomBytes(24).toString("base64url"));
  let ending = new AbortController();
  let served = Promise.resolve();
  let url = "";
  const serve = async (port: number): Promise<void> => {
    ending = new AbortController();
    const { signal } = ending;
    url = await new Promise<string>((resolve, reject) => {
      served = serveUi({
        host,
        port,
        page,
        secret: randomBytes(24).toString("base64url"),
        keyFile,
        onListening: resolve,
        signal,
      });
      served.catch(reject);
    });
  };
  const stop = async (): Promise<void> => {
    ending.abort();
    await served;
  };
  await serve(0);
  onTestFinished(stop);
  const { origin, port } = new URL(url);
  return {
    get url() {
      return url;
    },
    origin,
    keyFile,
    workspaceDir,
    host,
    stop,
    restart: (at = Number(port)) => serve(at),
  };
}

/** The headers of a page that has exchanged the secret of the address for a token. */
export async function signIn({ url }: Pick<UiServer, "url">): Promise<Record<string, string>> {
  const { hash, origin } = new URL(url);
  const headers = { origin, "content-type": "application/json" };
  const body = JSON.stringify({ secret: new URLSearchParams(hash.slice(1)).get("secret") });
  const answer = await fetch(`${origin}/api/login`, { method: "POST", headers, body });
  if (!answer.ok) throw new Error(await answer.text());
  const { token } = (await answer.json()) as { token: string };
  return { ...headers, authorization: `Bearer ${token}` };
}

/** A change of a note by an agent; without `text`, it forgets the old lines. */
export interface AgentChange {
  path: string;
  old: string;
  text?: string | undefined;
  reason?: string | undefined;
  session?: string;
}

export async function changeNote({ host, workspaceDir }: UiServer, change: AgentChange): Promise<void> {
  const { path, old, text, reason = "the user asked for it", session = "agent:main:tui:1" } = change;
  const place = {
    workspaceDir,
    settings: host.agent.memorySearch,
    stateDir: host.config.stateDir,
    changer: { agentId: "main", session, by: "memory_edit" },
    at: new Date(),
    timeZone: "UTC",
    relPath: path,
    old,
  };
  const { sha256: hash = "" } = (await readNote(place)) ?? {};
  if (text === undefined) await forgetNote({ ...place, hash, reason });
  else await editNote({ ...place, hash, text });
}

export async function openSession({ host }: UiServer, key: string): Promise<Session> {
  const sessions = await openSessions({ stateDir: host.config.stateDir, agentId: "main" });
  onTestFinished(() => sessions.close());
  return await sessions.open(key);
}
