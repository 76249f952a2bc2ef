// oxlint-disable vitest/no-standalone-expect -- the steps of scripts are the assertions of tests
import { readFileSync, rmSync } from "node:fs";
import path from "node:path";
import type { NewMessage, Session, SessionCompaction, SessionPatch } from "@memslot/agent-kit";
import { tempFolder, writeFiles } from "@memslot/test-tools/files";
import { expect } from "vitest";
import { withPatterns } from "../../support/fake-memory.ts";
import {
  assistant,
  folderIn,
  key,
  linesOf,
  listIn,
  openSession,
  type OpenedSessions,
  sessionsIn,
  user,
} from "./sessions.ts";

export type SessionStep = [verb: keyof SessionScript["verbs"], ...given: never[]];

/** A message, or `user a: text` and `assistant b: text` with the id before the colon. */
type Told = string | NewMessage;

function messageOf(told: Told): NewMessage {
  const [, role, id, text = ""] = (typeof told === "string" && /^(user|assistant) (\S+): ?(.*)$/su.exec(told)) || [];
  if (typeof told !== "string") return told;
  return role === "user" ? user(text, id) : assistant(text, id);
}

async function expectError(work: Promise<unknown>, code: string | undefined): Promise<void> {
  if (code === undefined) await work;
  else await expect(work).rejects.toMatchObject({ code });
}

/** The sessions of a state folder, in which the steps of a data file are done. */
export class SessionScript {
  readonly stateDir: string = tempFolder();
  #opened: OpenedSessions | undefined;
  #session: Session | undefined;
  #id: string | undefined;
  #now = new Date("2026-03-05T10:00:00Z");

  get session(): Session {
    return this.#session ?? expect.fail("no session is open");
  }

  async #sessions(): Promise<OpenedSessions> {
    return (this.#opened ??= await sessionsIn(this.stateDir, () => this.#now));
  }

  readonly verbs = {
    clock: async (time: string): Promise<void> => void (this.#now = new Date(time)),
    file: async (name: string, content: string): Promise<void> =>
      writeFiles(folderIn(this.stateDir), { [name]: content }),
    list: async (content: object | string): Promise<void> =>
      writeFiles(folderIn(this.stateDir), { "sessions.json": content }),
    delete: async (name: string): Promise<void> => rmSync(path.join(folderIn(this.stateDir), name)),
    /** Writes a transcript that another program left, and opens its session. */
    foreign: async (content: string): Promise<void> => {
      await this.verbs.file("old.jsonl", content);
      await this.verbs.list({ [key]: { sessionId: "old" } });
      await this.verbs.open();
    },
    open: async (name: string = key): Promise<void> =>
      void (this.#session = await (await this.#sessions()).sessions.open(name)),
    reset: async (name: string = key): Promise<void> =>
      void (this.#session = await (await this.#sessions()).sessions.reset(name)),
    close: async (): Promise<void> => await this.session.close(),
    /** Opens the session as the next process does. */
    again: async (name: string = key): Promise<void> => {
      await this.#opened?.sessions.close();
      this.#opened = undefined;
      await this.verbs.open(name);
    },
    say: async (...told: Told[]): Promise<void> => void (await this.session.append(...told.map(messageOf))),
    refuses: async (code: string, ...told: Told[]): Promise<void> =>
      expectError(this.session.append(...told.map(messageOf)), code),
    compact: async (
      compaction: Pick<SessionCompaction, "summary"> & Partial<SessionCompaction>,
      code?: string,
    ): Promise<void> =>
      expectError(this.session.compact({ firstKeptId: undefined, tokensBefore: 1, ...compaction }), code),
    update: async (patch: SessionPatch, code?: string): Promise<void> => expectError(this.session.update(patch), code),
    remember: async (): Promise<void> => void (this.#id = this.session.id),
    isSame: async (isSame: boolean): Promise<void> => expect(this.session.id === this.#id).toBe(isSame),
    recorded: async (...ids: string[]): Promise<void> => expect(this.session.recorded.map(({ id }) => id)).toEqual(ids),
    /** The texts of the messages, and the number of broken lines. */
    reads: async (...expected: (string | number)[]): Promise<void> => {
      const { recorded, facts } = this.session;
      expect([...recorded.map(({ text }) => text), facts.brokenLines]).toEqual(expected);
    },
    context: async (summary: string | null, ...ids: string[]): Promise<void> => {
      const { context } = this.session;
      expect([context.summary ?? null, ...context.messages.map(({ id }) => id)]).toEqual([summary, ...ids]);
    },
    unanswered: async (id: string | null): Promise<void> => expect(this.session.unanswered?.id ?? null).toBe(id),
    closed: async (isClosed: boolean): Promise<void> => expect(this.session.closed).toBe(isClosed),
    facts: async (expected: object): Promise<void> => expect(this.session.facts).toMatchObject(withPatterns(expected)),
    listed: async (expected: object): Promise<void> =>
      expect(listIn(this.stateDir)).toMatchObject(withPatterns(expected)),
    /** The ids of the messages in the transcript. */
    lines: async (...ids: string[]): Promise<void> => {
      const lines = linesOf(this.session.file).filter(({ type }) => type === "message");
      expect(lines.map(({ id }) => id)).toEqual(ids);
    },
    begins: async (text: string): Promise<void> =>
      expect(readFileSync(this.session.file, "utf8").slice(0, text.length)).toBe(text),
    fileName: async (name: string): Promise<void> =>
      expect(path.relative(folderIn(this.stateDir), this.session.file)).toMatch(new RegExp(`^${name}$`)),
    noticed: async (pattern: string): Promise<void> =>
      expect((await this.#sessions()).notices.join("\n")).toMatch(new RegExp(pattern)),
    /** Another process cannot open the session meanwhile. */
    isBusy: async (): Promise<void> => expectError(openSession(this.stateDir), "BUSY"),
  };
}
