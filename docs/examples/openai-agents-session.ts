// A part of openai-agents-sdk.ts, whose first line says what to install.
import { mkdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import path from "node:path";
import type { NewMessage, Sessions, Session as Transcript } from "@memslot/agent-kit";
import type { AgentInputItem, Session } from "@openai/agents";

/**
 * A conversation that goes on in the next process. The SDK wants its items back as they were, tool calls and reasoning
 * included, and takes some away again: they are kept whole in a JSON file. What was said in words is also written into
 * memslot's transcript, which only grows: there it can be searched, where `memorySearch.sources` names "sessions".
 */
export class FileSession implements Session {
  readonly #sessions: Sessions;
  readonly #folder: string;
  #transcript: Transcript;
  #items: AgentInputItem[] = [];

  private constructor(sessions: Sessions, folder: string, transcript: Transcript) {
    this.#sessions = sessions;
    this.#folder = folder;
    this.#transcript = transcript;
  }

  /** Throws where another process has the session open. `folder` is for the items, and is made. */
  static async open(sessions: Sessions, sessionKey: string, folder: string): Promise<FileSession> {
    await mkdir(folder, { recursive: true, mode: 0o700 });
    const session = new FileSession(sessions, folder, await sessions.open(sessionKey));
    session.#items = await readItems(session.#file);
    return session;
  }

  async getSessionId(): Promise<string> {
    return this.#transcript.key;
  }

  async getItems(limit?: number): Promise<AgentInputItem[]> {
    const from = limit === undefined ? 0 : Math.max(0, this.#items.length - limit);
    return structuredClone(this.#items.slice(from));
  }

  async addItems(items: AgentInputItem[]): Promise<void> {
    await this.#save([...this.#items, ...items]);
    await this.#transcript.append(...items.flatMap(saidIn));
  }

  async popItem(): Promise<AgentInputItem | undefined> {
    const last = this.#items.at(-1);
    if (last !== undefined) await this.#save(this.#items.slice(0, -1));
    return last;
  }

  /** The transcript that has ended stays, and stays to be found; delete its file to have it forgotten. */
  async clearSession(): Promise<void> {
    await rm(this.#file, { force: true });
    this.#items = [];
    this.#transcript = await this.#sessions.reset(this.#transcript.key);
  }

  get #file(): string {
    return path.join(this.#folder, `${this.#transcript.id}.json`);
  }

  /** A process that is killed meanwhile leaves the items as they were. */
  async #save(items: AgentInputItem[]): Promise<void> {
    const text = JSON.stringify(items);
    await writeFile(`${this.#file}.tmp`, text, { mode: 0o600 });
    await rename(`${this.#file}.tmp`, this.#file);
    this.#items = JSON.parse(text) as AgentInputItem[];
  }
}

async function readItems(file: string): Promise<AgentInputItem[]> {
  try {
    return JSON.parse(await readFile(file, "utf8")) as AgentInputItem[];
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return [];
    throw error;
  }
}

/** The words of a user or of the assistant. Tool calls, their results, pictures and sound are left out. */
function saidIn(item: AgentInputItem): NewMessage[] {
  if (!("role" in item) || item.role === "system") return [];
  const parts = typeof item.content === "string" ? [item.content] : item.content.map(textOf);
  const text = parts.filter((part) => part !== "").join("\n");
  return text === "" ? [] : [{ role: item.role, text }];
}

function textOf(part: { type: string; text?: unknown }): string {
  return typeof part.text === "string" ? part.text : "";
}
