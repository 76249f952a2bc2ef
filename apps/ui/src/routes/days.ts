import {
  type ChangePlace,
  type ListedTranscript,
  listChanges,
  listTranscripts,
  localClock,
  readNote,
} from "@memslot/agent-kit";
import type { MemoryFile } from "@memslot/core";
import type { DayAnswer, HomeAnswer, HomeNote, TimeAnswer, TimeDay } from "../api-types.ts";
import { RouteError, type Routes } from "../server/answer-request.ts";
import { changePlace, type UiHost } from "../ui-host.ts";

const dayMs = 24 * 60 * 60 * 1000;
/** Of the text of a note. */
const mostCharacters = 8_000;
/** On the home view. */
const mostRecent = 10;
const mostChanges = 20;
/** Of a day; more notes are links. */
const mostLogs = 3;
const mostNotes = 50;

/** What happened today, and on each day. */
export function dayRoutes(host: UiHost): Routes {
  return {
    "GET /api/home": ({ signal }) => homeOf(host, signal),
    "GET /api/time": ({ signal }) => timeOf(host, signal),
    "GET /api/time/days"({ query: { from = "" }, signal }) {
      if (!/^\d{4}-\d{2}-\d{2}$/u.test(from) || Number.isNaN(Date.parse(from)))
        throw new RouteError("INVALID_ARGUMENT", "from must be a day like 2026-03-05");
      return daysOf(host, from, signal);
    },
  };
}

/** What the home view shows, without a scan of the files. */
async function homeOf(host: UiHost, signal: AbortSignal): Promise<HomeAnswer> {
  const { memory, agent } = host;
  const place = changePlace(host, signal);
  const clock = localClock(agent.userTimezone);
  const [today, yesterday] = [0, dayMs].map((back) => clock(new Date(Date.now() - back)).day) as [string, string];
  const paths = [`memory/${today}.md`, `memory/${yesterday}.md`, "MEMORY.md", "USER.md"];
  const [list, changes, log, before, ...pinned] = await Promise.all([
    memory.listFiles({ limit: mostRecent, newest: true, scan: false, signal }),
    listChanges(place),
    ...paths.map((path) => noteBeginning(place, path)),
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

async function noteBeginning(place: ChangePlace, path: string): Promise<HomeNote | undefined> {
  const note = await readNote({ ...place, relPath: path }).catch(() => undefined);
  if (note === undefined) return undefined;
  return { path, text: note.text.slice(0, mostCharacters), isCut: note.text.length > mostCharacters };
}

/** How much each day has: lines of its notes, changes by agents, and conversations. */
async function timeOf(host: UiHost, signal: AbortSignal): Promise<TimeAnswer> {
  const { today, isListed, files, changesOn, sessionsOn, left } = await timeline(host, signal);
  const days = new Map<string, TimeDay>();
  const on = (day: string): TimeDay => {
    const known = days.get(day) ?? { day, lines: 0, changes: 0, sessions: 0 };
    days.set(day, known);
    return known;
  };
  for (const { days: own, lines = 0 } of files) if (own !== undefined && own[0] === own[1]) on(own[0]).lines += lines;
  for (const [day, changes] of changesOn) on(day).changes = changes.length;
  for (const [day, sessions] of sessionsOn) on(day).sessions = sessions.length;
  return {
    today,
    days: [...days.values()].toSorted((a, b) => (a.day < b.day ? -1 : 1)),
    undated: files.filter(({ days: own }) => own === undefined).length,
    left,
    isListed,
  };
}

/** The content of a day and the two days after it. */
async function daysOf(host: UiHost, first: string, signal: AbortSignal): Promise<DayAnswer[]> {
  const { files, changesOn, sessionsOn, dayOf } = await timeline(host, signal);
  const place = changePlace(host, signal);
  const days = [0, 1, 2].map((later) => new Date(Date.parse(first) + later * dayMs).toISOString().slice(0, 10));
  return await Promise.all(
    days.map(async (day): Promise<DayAnswer> => {
      const dated = files.filter(({ days: own }) => own?.[0] === day && own[1] === day).slice(0, mostLogs);
      const logs = await Promise.all(dated.map(({ path }) => noteBeginning(place, path)));
      const isOf = ({ days: own, modified }: MemoryFile): boolean =>
        (own !== undefined && own[0] <= day && day <= own[1]) || (modified !== undefined && dayOf(modified) === day);
      const notes = files.filter((file) => isOf(file) && !dated.includes(file));
      return {
        day,
        logs: logs.filter((log) => log !== undefined),
        notes: notes.slice(0, mostNotes),
        noteCount: notes.length,
        sessions: sessionsOn.get(day) ?? [],
        changes: changesOn.get(day) ?? [],
      };
    }),
  );
}

/** What there is, by the user's days. `left`: notes and conversations beyond the limits of their lists. */
async function timeline(host: UiHost, signal: AbortSignal) {
  const { memory, config, agent } = host;
  const clock = localClock(agent.userTimezone);
  const dayOf = (iso: string): string => clock(new Date(iso)).day;
  const [list, changes, { transcripts, count }] = await Promise.all([
    memory.listFiles({ scan: false, signal }),
    listChanges(changePlace(host, signal)),
    listTranscripts({ stateDir: config.stateDir, agentId: memory.agentId, signal }),
  ]);
  const sessionsOn = new Map<string, ListedTranscript[]>();
  for (const each of transcripts)
    for (const day of new Set([each.from, each.to].flatMap((at) => (at === undefined ? [] : dayOf(at)))))
      sessionsOn.set(day, [...(sessionsOn.get(day) ?? []), each]);
  return {
    today: clock(new Date()).day,
    isListed: list !== undefined,
    files: list?.files.filter(({ source }) => source === "memory") ?? [],
    changesOn: Map.groupBy(changes, ({ at }) => dayOf(at)),
    sessionsOn,
    left: (list?.fileCount ?? 0) - (list?.files.length ?? 0) + count - transcripts.length,
    dayOf,
  };
}
