import { MemoryError, isPrivateNote } from "@memslot/core";
import type { WrongManager } from "./wrong-manager.ts";

const noPlace = "audience: private notes take no place from what a shared session may see";
const owner = "audience: the owner's sessions find and read everything";

export const readingAlong: readonly WrongManager[] = [
  {
    fault: "tells a group everything",
    caughtBy: "audience: a shared session finds what extraPaths adds and none of the private notes",
    spoil: (right) => ({ search: (query, options) => right.search(query, { ...options, audience: "private" }) }),
  },
  {
    fault: "tells a group nothing",
    caughtBy: "audience: a shared session finds what extraPaths adds and none of the private notes",
    spoil: (right) => ({
      search: async (query, options) => (options.audience === "shared" ? [] : right.search(query, options)),
    }),
  },
  {
    fault: "takes private notes out of an answer that is cut already",
    caughtBy: noPlace,
    spoil: (right) => ({
      async search(query, options) {
        const results = await right.search(query, { ...options, audience: "private" });
        return options.audience === "private" ? results : results.filter(({ path }) => !isPrivateNote(path));
      },
    }),
  },
  {
    fault: "opens private notes to a group where an extra path leads to them",
    caughtBy: "audience: an extra path that leads to private notes does not open them to a shared session",
    spoil: (right, { settings, workspaceDir }) => ({
      search: (query, options) =>
        right.search(query, {
          ...options,
          audience: settings.extraPaths.some((extra) => JSON.stringify(extra).includes(workspaceDir))
            ? "private"
            : options.audience,
        }),
    }),
  },
  {
    fault: "reads everything to a group",
    caughtBy: "audience: a shared session reads no private note, whether it is there or not",
    spoil: (right) => ({ readFile: (params) => right.readFile({ ...params, audience: "private" }) }),
  },
  {
    fault: "tells a group which private notes there are",
    caughtBy: "audience: a shared session reads no private note, whether it is there or not",
    spoil: (right) => ({
      async readFile(params) {
        const read = await right.readFile({ ...params, audience: "private" });
        return read.status === "not_found" ? read : right.readFile(params);
      },
    }),
  },
  {
    fault: "reads nothing to a group",
    caughtBy: "audience: a shared session reads what it has found",
    spoil: (right) => ({
      async readFile(params) {
        if (params.audience === "shared") throw new MemoryError("PATH_NOT_ALLOWED", "not for a group");
        return right.readFile(params);
      },
    }),
  },
  {
    fault: "takes every session with a key for a group",
    caughtBy: owner,
    spoil: (right) => ({
      search: (query, options) =>
        right.search(query, { ...options, audience: options.sessionKey === undefined ? "private" : "shared" }),
    }),
  },
  {
    fault: "reads to nobody but at a terminal",
    caughtBy: owner,
    spoil: (right) => ({
      search: (query, options) => right.search(query, options),
      readFile: (params) => right.readFile({ ...params, audience: "shared" }),
    }),
  },
];
