import { type ChangePlace, listChanges, localClock, readNote } from "@memslot/agent-kit";
import type { HomeAnswer, HomeNote } from "../api-types.ts";
import { changePlace, type UiHost } from "../ui-host.ts";

const mostCharacters = 8_000;
const mostRecent = 10;
const mostChanges = 20;
const dayMs = 24 * 60 * 60 * 1000;

/** What the home view shows, without a scan of the files. */
export async function homeOf(host: UiHost, signal: AbortSignal): Promise<HomeAnswer> {
  const { memory, agent } = host;
  const place = changePlace(host, signal);
  const clock = localClock(agent.userTimezone);
  const [today, yesterday] = [0, dayMs].map((back) => clock(new Date(Date.now() - back)).day) as [string, string];
  const [list, changes, log, before, ...pinned] = await Promise.all([
    memory.listFiles({ limit: mostRecent, newest: true, scan: false, signal }),
    listChanges(place),
    ...[`memory/${today}.md`, `memory/${yesterday}.md`, "MEMORY.md", "USER.md"].map((path) =>
      noteBeginning(place, path),
    ),
  ]);
  const recent = changes.filter(({ at }) => clock(new Date(at)).day >= yesterday).toReversed();
  return {
    today,
    log,
    before,
    pinned: pinned.filter((note) => note !== undefined),
    recent: list?.files.filter(({ source }) => source === "memory") ?? [],
    changes: recent.slice(0, mostChanges),
    changeCount: recent.length,
  };
}

export async function noteBeginning(place: ChangePlace, path: string): Promise<HomeNote | undefined> {
  const note = await readNote({ ...place, relPath: path }).catch(() => undefined);
  if (note === undefined) return undefined;
  return { path, text: note.text.slice(0, mostCharacters), isCut: note.text.length > mostCharacters };
}
