import { lstat, mkdir, readdir, rm, stat } from "node:fs/promises";
import path from "node:path";
import { MemoryError } from "@memslot/core";
import { checkAgentPlace, currentFolder } from "@memslot/core/host";
import { sessionsFolder } from "@memslot/indexing/host";
import { unlessMissing } from "@memslot/core/files";
import pLimit, { type LimitFunction } from "p-limit";
import { openSession, type OwnedSession, type SessionPlace } from "./open-session.ts";
import { newEntry, factsOf, SessionTableFile } from "./session-table.ts";
import { invalid, orUnavailable } from "../state-locks.ts";
import type { OpenSessionsOptions, Session, SessionFacts, Sessions } from "./session-types.ts";

const maxKeyLength = 512;
const draftAgeMs = 60 * 60 * 1000;

/** Opens the sessions of an agent. Throws `INVALID_ARGUMENT`, `CONFIG` for a link, and `UNAVAILABLE`. */
export async function openSessions(options: OpenSessionsOptions): Promise<Sessions> {
  checkAgentPlace(options);
  const folder = path.resolve(sessionsFolder(options));
  const { clock = () => new Date(), notify = () => undefined, cwd = currentFolder() } = options;
  await prepareFolder(folder);
  const table = new SessionTableFile(folder, clock, notify);
  const place: SessionPlace = { folder, table, clock, notify, cwd };
  const open = new Map<string, OwnedSession>();
  const turns = new Map<string, LimitFunction>();
  let closed = false;
  await table.read();

  async function forKey<T>(key: string, run: () => Promise<T>): Promise<T> {
    checkKey(key);
    let inTurn = turns.get(key);
    if (!inTurn) turns.set(key, (inTurn = pLimit(1)));
    return await inTurn(async () => {
      if (closed) throw new MemoryError("CLOSED", `the sessions in ${folder} were closed; open them again`);
      return await run();
    });
  }

  async function openKey(key: string): Promise<OwnedSession> {
    const there = open.get(key);
    if (there && !there.session.closed) return there;
    await there?.session.close();
    const opened = await openSession(key, place);
    open.set(key, opened);
    return opened;
  }

  return {
    folder,
    open: (key) => forKey(key, async () => (await openKey(key)).session),
    reset: (key) =>
      forKey(key, async (): Promise<Session> => {
        const old = await openKey(key);
        if (!old.spoken) return old.session;
        await old.end(async () => {
          await table.change((sessions) => {
            const entry = sessions.get(key);
            if (entry?.sessionId === old.session.id) sessions.set(key, newEntry(clock(), entry));
          });
        });
        return (await openKey(key)).session;
      }),
    async list() {
      const facts: SessionFacts[] = [];
      for (const [key, entry] of await table.read()) {
        const own = open.get(key);
        const transcriptBytes = await sizeOf(path.join(folder, entry.sessionFile));
        const isOpen = own !== undefined && !own.session.closed && own.session.id === entry.sessionId;
        facts.push(isOpen ? own.session.facts : factsOf(key, folder, entry, transcriptBytes));
      }
      return facts.toSorted((a, b) => Date.parse(b.updatedAt) - Date.parse(a.updatedAt));
    },
    async close() {
      closed = true;
      await Promise.all([...turns.values()].map((inTurn) => inTurn(async () => undefined)));
      await Promise.all([...open.values()].map(({ session }) => session.close()));
    },
  };
}

function checkKey(key: unknown): void {
  if (typeof key === "string" && key.trim() !== "" && key.length <= maxKeyLength && !/\p{Cc}/u.test(key)) return;
  throw invalid(`a session key must be a text of 1 to ${maxKeyLength} characters on one line, such as agent:main:main`);
}

async function prepareFolder(folder: string): Promise<void> {
  const make = async (): Promise<void> => {
    await mkdir(folder, { recursive: true, mode: 0o700 });
    // A link in place of the agent's folder could lead to those of another agent: the index does not follow one either.
    for (const part of [path.dirname(path.dirname(folder)), path.dirname(folder), folder]) {
      if ((await lstat(part)).isSymbolicLink())
        throw new MemoryError("CONFIG", `${part} is a symbolic link, which is not followed: put a real folder there`);
    }
    await removeDrafts(folder);
  };
  await orUnavailable(make, (why) => {
    return `the folder of the transcripts, ${folder}, cannot be used: ${why}; check the state folder, or name another one in MEMSLOT_HOME`;
  });
}

async function removeDrafts(folder: string): Promise<void> {
  for (const name of await readdir(folder)) {
    if (!/\.(?:json|lock|takeover)\.[0-9a-f-]{36}\.tmp$/.test(name)) continue;
    const file = path.join(folder, name);
    const { mtimeMs } = await stat(file).catch(() => ({ mtimeMs: Infinity }));
    if (Date.now() - mtimeMs > draftAgeMs) await rm(file, { force: true });
  }
}

async function sizeOf(file: string): Promise<number> {
  const stats = await orUnavailable(
    () => stat(file).catch(unlessMissing),
    (why) => `the transcript ${file} cannot be read: ${why}`,
  );
  return stats?.size ?? 0;
}
