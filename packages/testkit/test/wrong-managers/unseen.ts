import type { ManagerSearchOptions, MemorySearchManager, SearchReport } from "@memslot/core";
import type { WrongManager } from "./wrong-manager.ts";

const stays = "audience: nothing that a shared session is told changes with private notes";

/** What the owner would be told. */
async function privately(
  right: MemorySearchManager,
  query: string,
  options: ManagerSearchOptions,
): Promise<SearchReport | undefined> {
  let told: SearchReport | undefined;
  await right.search(query, { ...options, audience: "private", onDebug: (report) => (told = report) });
  return told;
}

/** Changes the report of a shared session by that of the owner. */
function mixing(change: (shared: SearchReport, owners: SearchReport) => SearchReport): WrongManager["spoil"] {
  return (right) => ({
    async search(query, options) {
      if (options.audience === "private") return right.search(query, options);
      const owners = await privately(right, query, options);
      const onDebug = (report: SearchReport): void => options.onDebug(owners ? change(report, owners) : report);
      return right.search(query, { ...options, onDebug });
    },
  });
}

export const tellingTales: readonly WrongManager[] = [
  {
    fault: "tells a group how well the owner's notes answer",
    caughtBy: stays,
    spoil: mixing((shared, { confidence }) => ({ ...shared, confidence })),
  },
  {
    fault: "tells a group how many candidates the owner's notes give",
    caughtBy: stays,
    spoil: mixing((shared, { legs }) => ({ ...shared, legs })),
  },
  {
    fault: "tells a group whether any note at all holds a word",
    caughtBy: `${stays} where there is no other note`,
    spoil: mixing((shared, owners) =>
      owners.legs.keyword?.candidates === 0 ? { ...shared, reason: "no note holds it" } : shared,
    ),
  },
  {
    fault: "weighs what a group finds by the words of all notes",
    caughtBy: stays,
    spoil: (right) => ({
      async search(query, options) {
        const results = await right.search(query, options);
        if (options.audience === "private") return results;
        const { confidence = 1 } = (await privately(right, query, options)) ?? {};
        return results.map((result) => ({ ...result, score: result.score * (0.5 + confidence / 2) }));
      },
    }),
  },
  {
    fault: "tells a group how near the owner's notes are",
    caughtBy: "audience: nothing that a shared session is told by meaning changes with private notes",
    spoil: (right) => ({
      async search(query, options) {
        const results = await right.search(query, options);
        if (options.audience === "private") return results;
        const owners = await right.search(query, { ...options, audience: "private" });
        const nearest = Math.max(...owners.map(({ vectorScore = 0 }) => vectorScore));
        return results.map((result) =>
          result.vectorScore === undefined ? result : { ...result, score: result.score / Math.max(1, 1 + nearest) },
        );
      },
    }),
  },
];
