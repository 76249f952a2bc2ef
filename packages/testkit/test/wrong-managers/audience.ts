import { MemoryError, type ManagerSearchOptions, type MemorySearchManager, type SearchReport } from "@memslot/core";
import { isPrivateNote } from "@memslot/core/host";
import { type SpoilManager, type WrongManagers, askWith, beforeCalls } from "../wrong.ts";

export const readingAlong: WrongManagers = {
  "audience.shared": {
    "tells a group everything": (right) => askWith(right, { audience: "private" }),
    "tells a group nothing": (right) => ({
      search: async (query, options) => (options.audience === "shared" ? [] : right.search(query, options)),
    }),
    "reads everything to a group": (right) => ({
      readFile: (params) => right.readFile({ ...params, audience: "private" }),
    }),
    "tells a group which private notes there are": (right) => ({
      async readFile(params) {
        const read = await right.readFile({ ...params, audience: "private" });
        return read.status === "not_found" ? read : right.readFile(params);
      },
    }),
    "reads nothing to a group": (right) =>
      beforeCalls(right, {
        readFile(params) {
          if (params.audience === "shared") throw new MemoryError("PATH_NOT_ALLOWED", "not for a group");
        },
      }),
  },
  "audience.limit": {
    "takes private notes out of an answer that is cut already": (right) => ({
      async search(query, options) {
        const results = await right.search(query, { ...options, audience: "private" });
        return options.audience === "private" ? results : results.filter(({ path }) => !isPrivateNote(path));
      },
    }),
  },
  "audience.extra-path": {
    "opens private notes to a group where an extra path leads to them": (right, { settings, workspaceDir }) => ({
      search: (query, options) =>
        right.search(query, {
          ...options,
          audience: settings.extraPaths.some((extra) => JSON.stringify(extra).includes(workspaceDir))
            ? "private"
            : options.audience,
        }),
    }),
  },
  "audience.private": {
    "takes every session with a key for a group": (right) => ({
      search: (query, options) =>
        right.search(query, { ...options, audience: options.sessionKey === undefined ? "private" : "shared" }),
    }),
    "reads to nobody but at a terminal": (right) => ({
      readFile: (params) => right.readFile({ ...params, audience: "shared" }),
    }),
  },
};

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
function mixing(change: (shared: SearchReport, owners: SearchReport) => SearchReport): SpoilManager {
  return (right) => ({
    async search(query, options) {
      if (options.audience === "private") return right.search(query, options);
      const owners = await privately(right, query, options);
      const onDebug = (report: SearchReport): void => options.onDebug(owners ? change(report, owners) : report);
      return right.search(query, { ...options, onDebug });
    },
  });
}

export const tellingTales: WrongManagers = {
  "audience.unaffected": {
    "tells a group how well the owner's notes answer": mixing((shared, { confidence }) => ({ ...shared, confidence })),
    "tells a group how many candidates the owner's notes give": mixing((shared, { legs }) => ({ ...shared, legs })),
    "weighs what a group finds by the words of all notes": (right) => ({
      async search(query, options) {
        const results = await right.search(query, options);
        if (options.audience === "private") return results;
        const { confidence = 1 } = (await privately(right, query, options)) ?? {};
        return results.map((result) => ({ ...result, score: result.score * (0.5 + confidence / 2) }));
      },
    }),
  },
  "audience.unaffected-empty": {
    "tells a group whether any note at all holds a word": mixing((shared, owners) =>
      owners.legs.keyword?.candidates === 0 ? { ...shared, reason: "no note holds it" } : shared,
    ),
  },
  "audience.unaffected-vectors": {
    "tells a group how near the owner's notes are": (right) => ({
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
};
