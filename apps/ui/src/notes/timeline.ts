import { type ConversationTime, type ConversationTimes, conversationTimes } from "@memslot/agent-kit";
import type { MemoryFile } from "@memslot/core";
import type { DayAnswer, TimeAnswer, TimeDay } from "../api-types.ts";
import type { UiHost } from "../ui-host.ts";

/** Counts of notes, sessions and flushes by day. */
export async function timeOf(host: UiHost, signal: AbortSignal): Promise<TimeAnswer> {
  const { files, all, told, talks, dayOf } = await look(host, signal);
  const days = new Map<string, TimeDay>();
  const on = (day: string): TimeDay => {
    const known = days.get(day) ?? { day, notes: 0, bytes: 0, lines: 0, sessions: 0, flushes: 0 };
    days.set(day, known);
    return known;
  };
  for (const { days: own, bytes, lines = 0 } of files) {
    if (own === undefined || own[0] !== own[1]) continue;
    const at = on(own[0]);
    at.notes += 1;
    at.bytes += bytes;
    at.lines += lines;
  }
  for (const talk of talks.sessions) for (const day of daysOf(talk, dayOf)) on(day).sessions += 1;
  for (const flush of talks.flushes) on(dayOf(flush.from)).flushes += 1;
  return {
    days: [...days.values()].toSorted((a, b) => (a.day < b.day ? -1 : 1)),
    spans: files.filter(({ days: own }) => own !== undefined && own[0] !== own[1]).length,
    undated: files.filter(({ days: own }) => own === undefined).length,
    notes: all,
    sessions: talks.sessionCount,
    flushes: talks.flushCount,
    left: {
      notes: all - files.length,
      sessions: talks.sessionCount - talks.sessions.length,
      flushes: talks.flushCount - talks.flushes.length,
    },
    told,
  };
}

/** The content of one day. */
export async function dayOfMemory(host: UiHost, day: string, signal: AbortSignal): Promise<DayAnswer> {
  const { files, talks, dayOf } = await look(host, signal);
  const dated = files.filter(({ days }) => days !== undefined && days[0] <= day && day <= days[1]);
  return {
    day,
    notes: dated.filter(({ days }) => days?.[0] === days?.[1]),
    spans: dated.filter(({ days }) => days?.[0] !== days?.[1]),
    sessions: talks.sessions.filter((talk) => daysOf(talk, dayOf).has(day)),
    flushes: talks.flushes.filter(({ from }) => dayOf(from) === day),
  };
}

interface Look {
  files: readonly MemoryFile[];
  all: number;
  told: boolean;
  talks: ConversationTimes;
  dayOf: (iso: string) => string;
}

async function look({ memory, config, agent }: UiHost, signal: AbortSignal): Promise<Look> {
  const [list, talks] = await Promise.all([
    memory.listFiles({ scan: false, signal }),
    conversationTimes({ stateDir: config.stateDir, agentId: memory.agentId }),
  ]);
  const files = list?.files.filter(({ source }) => source === "memory") ?? [];
  const others = (list?.files.length ?? 0) - files.length;
  const format = new Intl.DateTimeFormat("en-CA", { timeZone: agent.userTimezone, dateStyle: "short" });
  return {
    files,
    all: (list?.fileCount ?? 0) - others,
    told: list !== undefined,
    talks,
    dayOf: (iso) => format.format(new Date(iso)),
  };
}

function daysOf({ from, to }: ConversationTime, dayOf: (iso: string) => string): ReadonlySet<string> {
  return new Set([dayOf(from), dayOf(to)]);
}
