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
import { isMarkdown } from "@memslot/indexing/host";
import type { ExcludedAnswer, NoteAnswer, NoteFactsAnswer, NoteFolder, NotesAnswer } from "../api-types.ts";
import { RouteError, syncAfterWrite, textOf } from "../server/http-answers.ts";
import type { Asked, Routes } from "../server/request-listener.ts";
import { changePlace, type UiHost } from "../ui-host.ts";

/** Routes to list, read and change files of the memory. */
export function noteRoutes(host: UiHost): Routes {
  const { memory, agent } = host;
  const changing =
    (reason: string, change: (place: ChangePlace, textAt: (name: string) => string) => Promise<NoteChangeRecord>) =>
    async ({ body, signal }: Asked): Promise<NoteChangeRecord> => {
      const made = await change(changePlace(host, signal), (name) => textOf(body, name));
      syncAfterWrite(memory, reason);
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
      const note = await readNote({ ...changePlace(host, signal), relPath });
      if (note === undefined) throw new RouteError(404, "NOT_FOUND", `there is no note ${JSON.stringify(relPath)}`);
      return { note } satisfies NoteAnswer;
    },

    async "GET /api/notes/facts"({ query: { path = "" }, signal }) {
      return { facts: await memory.describeFile({ path, signal }) } satisfies NoteFactsAnswer;
    },

    async "PUT /api/notes/file"({ body, signal }) {
      const [relPath, text, sha256] = [textOf(body, "path"), textOf(body, "text"), textOf(body, "sha256")];
      const { state, note } = await replaceNote({ ...changePlace(host, signal), relPath, text, sha256 });
      if (state === "replaced") {
        syncAfterWrite(memory, "a note was saved on the page");
        return { note } satisfies NoteAnswer;
      }
      const why = note === undefined ? "is not there any more" : "was changed by another program meanwhile";
      throw new RouteError(409, "CONFLICT", `${relPath} ${why}; nothing was written`, { note });
    },

    "POST /api/notes/file": changing("a note was created on the page", (place, textAt) =>
      createNote({ ...place, relPath: textAt("path"), text: textAt("text") }),
    ),
    "POST /api/notes/rename": changing("a note was renamed on the page", (place, textAt) =>
      renameNote({ ...place, relPath: textAt("path"), to: textAt("to"), sha256: textAt("sha256") }),
    ),
    "POST /api/notes/trash": changing("a note was moved to the trash on the page", (place, textAt) =>
      deleteNote({ ...place, relPath: textAt("path"), sha256: textAt("sha256"), timeZone: agent.userTimezone }),
    ),
  };
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
