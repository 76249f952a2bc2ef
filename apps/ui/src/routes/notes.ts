import {
  type ChangePlace,
  createNote,
  deleteNote,
  listChanges,
  readNote,
  renameNote,
  replaceNote,
  restoreNote,
  undoChange,
} from "@memslot/agent-kit";
import { type MemoryFile, messageOf } from "@memslot/core";
import { isMarkdown } from "@memslot/indexing/host";
import type { ChangesAnswer, ExcludedAnswer, NoteFolder, NotesAnswer } from "../api-types.ts";
import { notThere, RouteError, type Routes, textOf } from "../server/answer-request.ts";
import { changePlace, type UiHost } from "../ui-host.ts";

const mostExcluded = 500;
const pageChanges = 50;

/** Routes to list, read and change files of the memory, and to list and take back changes. */
export function noteRoutes(host: UiHost): Routes {
  const { memory, agent } = host;
  /** Makes a change from texts of the body. The page gets an event when it is indexed. */
  const changing =
    (change: (place: ChangePlace, textAt: (name: string) => string) => Promise<unknown>): Routes[string] =>
    async (asked) => {
      const made = await change(changePlace(host, asked.signal), (name) => textOf(asked, name));
      memory.sync({ reason: "a note was changed on the page" }).catch((error: unknown) => {
        process.emitWarning(`the change is saved, and is not indexed yet: ${messageOf(error)}`);
      });
      return made;
    };
  return {
    async "GET /api/notes"({ signal }) {
      const list = await memory.listFiles({ scan: false, signal });
      const notes = list?.files.filter(({ source }) => source === "memory") ?? [];
      const tags: Record<string, number> = {};
      for (const tag of notes.flatMap((note) => note.tags ?? [])) tags[tag] = (tags[tag] ?? 0) + 1;
      const folders = list && foldersOf(notes);
      return { folders, fileCount: list?.fileCount ?? 0, tags } satisfies NotesAnswer;
    },

    async "GET /api/notes/excluded"({ signal }) {
      const list = await memory.listFiles({ limit: mostExcluded, signal });
      const { leftOut = [], leftOutCount = 0, more = false } = list ?? {};
      return { leftOut, leftOutCount, more } satisfies ExcludedAnswer;
    },

    async "GET /api/notes/file"({ query: { path: relPath = "" }, signal }) {
      return (await readNote({ ...changePlace(host, signal), relPath })) ?? notThere("note", relPath);
    },

    "GET /api/notes/facts": async ({ query: { path = "" }, signal }) =>
      (await memory.describeFile({ path, signal })) ?? null,

    "PUT /api/notes/file": changing(async (place, textAt) => {
      const [relPath = "", text = "", sha256 = ""] = ["path", "text", "sha256"].map(textAt);
      const { state, note } = await replaceNote({ ...place, relPath, text, sha256 });
      if (state === "replaced") return note;
      const why = note === undefined ? "is not there any more" : "was changed by another program meanwhile";
      throw new RouteError("CONFLICT", `${relPath} ${why}; nothing was written`);
    }),
    "POST /api/notes/file": changing(async (place, textAt) => {
      const relPath = textAt("path");
      await createNote({ ...place, relPath, text: textAt("text") });
      return (await readNote({ ...place, relPath })) ?? notThere("note", relPath);
    }),
    "POST /api/notes/rename": changing((place, textAt) =>
      renameNote({ ...place, relPath: textAt("path"), to: textAt("to"), sha256: textAt("sha256") }),
    ),
    "POST /api/notes/trash": changing((place, textAt) =>
      deleteNote({ ...place, relPath: textAt("path"), sha256: textAt("sha256"), timeZone: agent.userTimezone }),
    ),

    async "GET /api/changes"({ query: { path, before }, signal }) {
      const all = (await listChanges(changePlace(host, signal))).toReversed();
      const own = path === undefined ? all : all.filter((change) => change.path === path);
      // An unknown id begins at the newest.
      const from = before === undefined ? 0 : own.findIndex(({ id }) => id === before) + 1;
      const changes = own.slice(from, from + pageChanges);
      const next = from + changes.length < own.length ? changes.at(-1)?.id : undefined;
      return { changes, count: own.length, next } satisfies ChangesAnswer;
    },
    "POST /api/changes/undo": changing((place, textAt) => undoChange(place, textAt("id"))),
    "POST /api/changes/restore": changing((place, textAt) => restoreNote(place, textAt("id"))),
  };
}

const dayIn = /\d{4}-\d{2}-\d{2}/u;

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
