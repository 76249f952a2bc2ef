import { listChanges, type NoteChangeRecord, restoreNote, undoChange } from "@memslot/agent-kit";
import type { ChangesAnswer } from "../api-types.ts";
import { syncAfterWrite, textOf } from "../server/http-answers.ts";
import type { Asked, Routes } from "../server/request-listener.ts";
import { changePlace, type UiHost } from "../ui-host.ts";

const pageChanges = 50;

/** What agents and this page changed in the notes, newest first, and the way back. */
export function changeRoutes(host: UiHost): Routes {
  const reverting =
    (revert: typeof undoChange) =>
    async ({ body, signal }: Asked): Promise<NoteChangeRecord> => {
      const change = await revert(changePlace(host, signal), textOf(body, "id"));
      syncAfterWrite(host.memory, "a change was taken back on the page");
      return change;
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
    "POST /api/changes/undo": reverting(undoChange),
    "POST /api/changes/restore": reverting(restoreNote),
  };
}
