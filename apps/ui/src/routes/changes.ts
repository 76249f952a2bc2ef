import { listChanges, restoreNote, undoChange } from "@memslot/agent-kit";
import type { ChangesAnswer, RevertAnswer } from "../api-types.ts";
import { refuseReadOnly, syncAfterWrite } from "../server/http-answers.ts";
import type { Asked, Routes } from "../server/request-listener.ts";
import { changePlace, type UiHost } from "../ui-host.ts";

const pageChanges = 50;

/** What agents and this page changed in the notes, newest first, and the way back. */
export function changeRoutes(host: UiHost): Routes {
  const reverting =
    (revert: typeof undoChange) =>
    async ({ id, signal }: Asked): Promise<RevertAnswer> => {
      refuseReadOnly(host);
      const change = await revert(changePlace(host, signal), id);
      syncAfterWrite(host.memory, "a change was taken back on the page");
      return { change };
    };
  return {
    async "GET /api/changes"({ query: { path, before }, signal }) {
      const all = (await listChanges(changePlace(host, signal))).toReversed();
      const own = path === undefined ? all : all.filter((change) => change.path === path);
      // An unknown id begins at the newest.
      const from = before === undefined ? 0 : own.findIndex(({ id }) => id === before) + 1;
      const changes = own.slice(from, from + pageChanges);
      const next = from + changes.length < own.length ? changes.at(-1)?.id : undefined;
      return { changes, count: own.length, next } satisfies ChangesAnswer;
    },
    "POST /api/changes/:id/undo": reverting(undoChange),
    "POST /api/changes/:id/restore": reverting(restoreNote),
  };
}
