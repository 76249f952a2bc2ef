import {
  conversationTimes,
  describeTranscript,
  listTranscripts,
  readHandOvers,
  readTranscriptPage,
} from "@memslot/agent-kit";
import type { SessionsAnswer } from "../api-types.ts";
import { RouteError } from "../server/http-answers.ts";
import type { Routes } from "../server/request-listener.ts";
import type { UiHost } from "../ui-host.ts";

const pageLines = 60;

export function sessionRoutes({ memory, config }: UiHost): Routes {
  const place = { stateDir: config.stateDir, agentId: memory.agentId };
  return {
    async "GET /api/sessions"({ signal }) {
      const [list, handOvers, times] = await Promise.all([
        listTranscripts({ ...place, ownerAllowFrom: memory.ownerAllowFrom, signal }),
        readHandOvers(place),
        conversationTimes(place),
      ]);
      const { all, count, broken } = handOvers;
      const { flushes: journal, flushCount: journalCount } = times;
      return { ...list, handOvers: all, handOverCount: count, broken, journal, journalCount } satisfies SessionsAnswer;
    },

    async "GET /api/sessions/read"({ query: { path = "", from, before }, signal }) {
      const options = { from: offsetIn("from", from), before: offsetIn("before", before), limit: pageLines, signal };
      return (await readTranscriptPage(place, path, options)) ?? notThere(path);
    },

    "GET /api/sessions/facts": async ({ query: { path = "" }, signal }) =>
      (await describeTranscript(place, path, { signal })) ?? notThere(path),
  };
}

function offsetIn(name: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  if (!/^\d{1,15}$/u.test(text)) throw new RouteError(400, "INVALID_ARGUMENT", `${name} must be a number of bytes`);
  return Number(text);
}

function notThere(path: string): never {
  throw new RouteError(404, "NOT_FOUND", `there is no transcript ${JSON.stringify(path)}`);
}
