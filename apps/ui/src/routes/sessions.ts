import {
  conversationTimes,
  describeTranscript,
  listTranscripts,
  readHandOvers,
  readTranscriptPage,
} from "@memslot/agent-kit";
import type { Hono } from "hono";
import type { SessionsAnswer, TranscriptAnswer, TranscriptFactsAnswer } from "../api-types.ts";
import { RouteError } from "../server/request-checks.ts";
import type { UiHost } from "../ui-host.ts";

export function serveSessions(app: Hono, { memory, config }: UiHost): void {
  const place = { stateDir: config.stateDir, agentId: memory.agentId };

  app.get("/api/sessions", async (context) => {
    const { signal } = context.req.raw;
    const [list, handOvers, times] = await Promise.all([
      listTranscripts({ ...place, ownerAllowFrom: memory.ownerAllowFrom, signal }),
      readHandOvers(place),
      conversationTimes(place),
    ]);
    const answer: SessionsAnswer = {
      ...list,
      handOvers: handOvers.all,
      handOverCount: handOvers.count,
      broken: handOvers.broken,
      journal: times.flushes,
      journalCount: times.flushCount,
    };
    return context.json(answer);
  });

  app.get("/api/sessions/read", async (context) => {
    const path = context.req.query("path") ?? "";
    const [from, before] = ["from", "before"].map((name) => offsetIn(name, context.req.query(name)));
    const page = await readTranscriptPage(place, path, {
      from,
      before,
      limit: pageLines,
      signal: context.req.raw.signal,
    });
    if (page === undefined) throw notThere(path);
    return context.json(page satisfies TranscriptAnswer);
  });

  app.get("/api/sessions/facts", async (context) => {
    const path = context.req.query("path") ?? "";
    const facts = await describeTranscript(place, path, { signal: context.req.raw.signal });
    if (facts === undefined) throw notThere(path);
    return context.json(facts satisfies TranscriptFactsAnswer);
  });
}

const pageLines = 60;

function offsetIn(name: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  if (!/^\d{1,15}$/u.test(text)) throw new RouteError(400, "INVALID_ARGUMENT", `${name} must be a number of bytes`);
  return Number(text);
}

function notThere(path: string): RouteError {
  return new RouteError(404, "NOT_FOUND", `there is no transcript ${JSON.stringify(path)}`);
}
