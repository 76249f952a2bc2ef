import { type ChangePlace, type NoteChangeRecord, listChanges, restoreNote, undoChange } from "@memslot/agent-kit";
import type { Context, Hono } from "hono";
import type { ChangesAnswer, RevertAnswer } from "../api-types.ts";
import { RouteError, refuseReadOnly, syncAfterWrite } from "../server/request-checks.ts";
import { changePlace, type UiHost } from "../ui-host.ts";

const pageChanges = 50;

/** What agents and this page changed in the notes, newest first, and the way back. */
export function serveChanges(app: Hono, host: UiHost): void {
  app.get("/api/changes", async (context) => {
    const { path, before } = context.req.query();
    const all = (await listChanges(changePlace(host, context.req.raw.signal))).toReversed();
    const own = path === undefined ? all : all.filter((change) => change.path === path);
    // An unknown id begins at the newest.
    const from = before === undefined ? 0 : own.findIndex(({ id }) => id === before) + 1;
    const changes = own.slice(from, from + pageChanges);
    const next = from + changes.length < own.length ? changes.at(-1)?.id : undefined;
    return context.json({ changes, count: own.length, next } satisfies ChangesAnswer);
  });

  const reverting =
    (revert: (place: ChangePlace, id?: string) => Promise<NoteChangeRecord>) =>
    async (context: Context): Promise<Response> => {
      refuseReadOnly(host);
      const id = context.req.param("id");
      if (id === undefined) throw new RouteError(400, "INVALID_ARGUMENT", "id must name a change");
      const change = await revert(changePlace(host, context.req.raw.signal), id);
      syncAfterWrite(host.memory, "a change was taken back on the page");
      return context.json({ change } satisfies RevertAnswer);
    };
  app.post("/api/changes/:id/undo", reverting(undoChange));
  app.post("/api/changes/:id/restore", reverting(restoreNote));
}
