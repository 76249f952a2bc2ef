import type { MemoryFile } from "@memslot/core";
import type { NotesAnswer } from "../../src/api-types.ts";
import { type Answer, useQuery } from "./queries.ts";

/** An indexed note. */
export interface NoteName extends Pick<MemoryFile, "path" | "title"> {
  /** `2026-03-05`: the first day of its content. */
  day?: string | undefined;
}

export interface NoteNames {
  /** By folder and name. Absent: the backend cannot list them. */
  notes?: readonly NoteName[] | undefined;
  byPath: ReadonlyMap<string, NoteName>;
  /** Number of indexed files, conversations included. */
  fileCount: number;
  /** Tags and their number of notes. */
  tags: NotesAnswer["tags"];
}

const read = new WeakMap<NotesAnswer, NoteNames>();

/** All indexed notes, shared by the views. */
export function useNotes(): Answer<NoteNames> {
  const { data, ...rest } = useQuery<NotesAnswer>("/api/notes");
  if (data === undefined) return { data, ...rest };
  const known = read.get(data) ?? namesOf(data);
  read.set(data, known);
  return { data: known, ...rest };
}

function namesOf({ folders, fileCount, tags }: NotesAnswer): NoteNames {
  const notes = folders?.flatMap(notesIn);
  return { notes, byPath: new Map(notes?.map((note) => [note.path, note])), fileCount, tags };
}

function notesIn({ path, names, titles, days }: NonNullable<NotesAnswer["folders"]>[number]): NoteName[] {
  const [ownTitles, ownDays] = [titles.split("\n"), days.split("\n")];
  return names.split("/").map((short, index) => {
    const name = /\.(?:mdx?|markdown)$/iu.test(short) ? short : `${short}.md`;
    const day = ownDays[index] || /\d{4}-\d{2}-\d{2}/u.exec(name)?.[0];
    return { path: path + name, title: ownTitles[index] || undefined, day };
  });
}
