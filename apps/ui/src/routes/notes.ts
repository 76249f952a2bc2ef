import {
  type ChangePlace,
  createNote,
  deleteNote,
  type NoteChangeRecord,
  readNote,
  renameNote,
  replaceNote,
} from "@memslot/agent-kit";
import type { MemoryFile } from "@memslot/core";
import { notesLayout } from "@memslot/core/files";
import { isMarkdown } from "@memslot/indexing/host";
import type { Context, Hono } from "hono";
import type {
  ExcludedAnswer,
  Failure,
  NoteAnswer,
  NoteConflict,
  NoteFolder,
  NotesAnswer,
  RevertAnswer,
  SavedNote,
} from "../api-types.ts";
import { takeIn } from "../notes/include-files.ts";
import { RouteError, bodyOf, refuseReadOnly, syncAfterWrite, textOf } from "../server/request-checks.ts";
import { changePlace, type UiHost } from "../ui-host.ts";

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
    const list = await memory.listFiles({ scan: false, signal: context.req.raw.signal });
    const notes = list?.files.filter(({ source }) => source === "memory") ?? [];
    const tags: Record<string, number> = {};
    for (const tag of notes.flatMap((note) => note.tags ?? [])) tags[tag] = (tags[tag] ?? 0) + 1;
    const folders = list && foldersOf(notes);
    return context.json({ folders, fileCount: list?.fileCount ?? 0, tags } satisfies NotesAnswer);
  });

  app.get("/api/notes/excluded", async (context) => {
    const list = await memory.listFiles({ limit: mostExcluded, signal: context.req.raw.signal });
    const { leftOut = [], leftOutCount = 0, more = false } = list ?? {};
    const layout = notesLayout(workspaceDir, agent.memorySearch.notes);
    return context.json({ leftOut, leftOutCount, more, ...layout } satisfies ExcludedAnswer);
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
      syncAfterWrite(memory, "a note was saved on the page");
      return context.json({ note } satisfies SavedNote);
    }
    const message =
      note === undefined
        ? `${path} is not there any more; nothing was written`
        : `${path} was changed by another program meanwhile; nothing was written`;
    return context.json({ error: { code: "CONFLICT", message }, note } satisfies Failure & NoteConflict, 409);
  });

  const changing =
    (reason: string, change: (place: ChangePlace, textAt: (name: string) => string) => Promise<NoteChangeRecord>) =>
    async (context: Context): Promise<Response> => {
      refuseReadOnly(host);
      const body = await bodyOf(context);
      const made = await change(changePlace(host, context.req.raw.signal), (name) => textOf(body, name));
      syncAfterWrite(memory, reason);
      return context.json({ change: made } satisfies RevertAnswer);
    };
  const create = changing("a note was created on the page", (place, textAt) =>
    createNote({ ...place, relPath: textAt("path"), text: textAt("text") }),
  );
  const rename = changing("a note was renamed on the page", (place, textAt) =>
    renameNote({ ...place, relPath: textAt("path"), to: textAt("to"), sha256: textAt("sha256") }),
  );
  const trash = changing("a note was moved to the trash on the page", (place, textAt) =>
    deleteNote({ ...place, relPath: textAt("path"), sha256: textAt("sha256"), timeZone: agent.userTimezone }),
  );
  app.post("/api/notes/file", create);
  app.post("/api/notes/rename", rename);
  app.post("/api/notes/trash", trash);

  app.post("/api/notes/take-in", async (context) => {
    refuseReadOnly(host);
    const body = await bodyOf(context);
    const path = body["path"] === undefined ? undefined : textOf(body, "path");
    return context.json(await takeIn(host, { path, write: body["write"] === true }));
  });
}

const dayIn = /\d{4}-\d{2}-\d{2}/u;
const mostExcluded = 500;

/** Without `.md`, unless the rest would be taken for a whole name. */
function shortName(name: string): string {
  return name.endsWith(".md") && !isMarkdown(name.slice(0, -3)) ? name.slice(0, -3) : name;
}

function foldersOf(notes: readonly MemoryFile[]): NoteFolder[] {
  const folderOf = (path: string): string => path.slice(0, path.lastIndexOf("/") + 1);
  return [...Map.groupBy(notes, (note) => folderOf(note.path))].map(([path, own]) => ({
    path,
    names: own.map((note) => shortName(note.path.slice(path.length))).join("/"),
    days: own
      .map((note) => (dayIn.test(note.path) ? "" : (note.days?.[0] ?? "")))
      .join("\n")
      .trimEnd(),
    titles: own.map(({ title = "" }) => title.replaceAll(/\s+/gu, " ")).join("\n"),
  }));
}
