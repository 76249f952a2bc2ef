import { describeTranscript, listTranscripts, readHandOvers, readTranscriptPage } from "@memslot/agent-kit";
import type { SessionsAnswer } from "../api-types.ts";
import { notThere, numberOf, type Routes } from "../server/answer-request.ts";
import type { UiHost } from "../ui-host.ts";

const pageLines = 5_000;

export function sessionRoutes({ memory, config }: UiHost): Routes {
  const place = { stateDir: config.stateDir, agentId: memory.agentId };
  return {
    async "GET /api/sessions"({ signal }) {
      const [sessions, journal, { all, count, broken }] = await Promise.all([
        listTranscripts({ ...place, ownerAllowFrom: memory.ownerAllowFrom, signal }),
        listTranscripts({ ...place, label: "journal", signal }),
        readHandOvers(place),
      ]);
      return { sessions, journal, handOvers: { all, count, broken } } satisfies SessionsAnswer;
    },

    async "GET /api/sessions/read"(asked) {
      const [from, before, at] = ["from", "before", "at"].map((name) => numberOf(asked, name));
      const { path = "" } = asked.query;
      const options = { limit: pageLines, signal: asked.signal };
      const page =
        (await readTranscriptPage(place, path, { ...options, from, before })) ?? notThere("transcript", path);
      // The whole conversation around a line, or the part that begins with it.
      return at === undefined || at < page.end ? page : await readTranscriptPage(place, path, { ...options, from: at });
    },

    "GET /api/sessions/facts": async ({ query: { path = "" }, signal }) =>
      (await describeTranscript(place, path, { signal })) ?? notThere("transcript", path),
  };
}
