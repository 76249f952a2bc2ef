import { readNote, replaceNote } from "@memslot/agent-kit";
import { messageOf } from "@memslot/core";
import { notesLayout } from "@memslot/core/files";
import type { Hono } from "hono";
import type { Failure, NoteAnswer, NoteConflict, NotesAnswer, SavedNote } from "../api-types.ts";
import { takeIn } from "../notes/include-files.ts";
import { RouteError, bodyOf, textOf } from "../server/request-checks.ts";
import type { UiHost } from "../ui-host.ts";

/** Routes to list, read, change and add files of the memory. */
export function serveNotes(app: Hono, host: UiHost): void {
  const { memory, agent, config } = host;
  const { workspaceDir } = memory;
  const named = (relPath: string): Parameters<typeof readNote>[0] => ({
    workspaceDir,
    settings: agent.memorySearch,
    stateDir: config.stateDir,
    relPath,
  });

  app.get("/api/notes", async (context) => {
    const list = await memory.listFiles({ signal: context.req.raw.signal });
    const { layout, why } = notesLayout(workspaceDir, agent.memorySearch.notes);
    const backend = memory.status().backend;
    return context.json({ list, layout, why, backend } satisfies NotesAnswer);
  });

  app.get("/api/notes/file", async (context) => {
    const relPath = context.req.query("path") ?? "";
    const note = await readNote(named(relPath));
    if (note === undefined) throw new RouteError(404, "NOT_FOUND", `there is no note ${JSON.stringify(relPath)}`);
    const facts = await memory.describeFile({ path: relPath, signal: context.req.raw.signal });
    return context.json({ path: facts?.path ?? relPath, note, facts } satisfies NoteAnswer);
  });

  app.put("/api/notes/file", async (context) => {
    refuseReadOnly(host);
    const body = await bodyOf(context);
    const [path, text, sha256] = ["path", "text", "sha256"].map((name) => textOf(body, name)) as [
      string,
      string,
      string,
    ];
    const { state, note } = await replaceNote({ ...named(path), text, sha256, signal: context.req.raw.signal });
    if (state === "replaced") {
      // In the background: the page gets an event when it is indexed, and a search syncs by itself.
      memory.sync({ reason: "a note was saved on the page" }).catch((error: unknown) => {
        process.emitWarning(`the note is saved, and is not indexed yet: ${messageOf(error)}`);
      });
      return context.json({ note } satisfies SavedNote);
    }
    const message =
      note === undefined
        ? `${path} is not there any more; nothing was written`
        : `${path} was changed by somebody else meanwhile; nothing was written`;
    return context.json({ error: { code: "CONFLICT", message }, note } satisfies Failure & NoteConflict, 409);
  });

  app.post("/api/notes/take-in", async (context) => {
    refuseReadOnly(host);
    const body = await bodyOf(context);
    const path = body["path"] === undefined ? undefined : textOf(body, "path");
    return context.json(await takeIn(host, { path, write: body["write"] === true }));
  });
}

function refuseReadOnly({ readOnly }: UiHost): void {
  if (readOnly)
    throw new RouteError(
      403,
      "FORBIDDEN",
      "this page only looks: start memslot ui without --read-only to change something",
    );
}
