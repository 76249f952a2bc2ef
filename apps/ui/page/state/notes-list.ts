import type { MemoryFile } from "@memslot/core";
import type { NotesAnswer } from "../../src/api-types.ts";
import { useQuery } from "./queries.ts";

/** An indexed note. */
export interface NoteName extends Pick<MemoryFile, "path" | "title"> {
  /** `2026-03-05`: the first day of its content. */
  day?: string | undefined;
}

/** All indexed notes, shared by the views. */
export function useNotes() {
  const { data, ...rest } = useQuery<NotesAnswer>("/api/notes");
  return { data: data && (read.get(data) ?? namesOf(data)), ...rest };
}

export type NoteNames = ReturnType<typeof namesOf>;

const read = new WeakMap<NotesAnswer, NoteNames>();

/** Without `notes`: the backend cannot list them. */
function namesOf(answer: NotesAnswer) {
  const { folders, ...counts } = answer;
  const notes = folders?.flatMap(notesIn);
  const names = { notes, byPath: new Map(notes?.map((note) => [note.path, note])), ...counts };
  read.set(answer, names);
  return names;
}

function notesIn({ path, names, titles, days }: NonNullable<NotesAnswer["folders"]>[number]): NoteName[] {
  const [ownTitles, ownDays] = [titles.split("\n"), days.split("\n")];
  return names.split("/").map((short, index) => {
    const name = /\.(?:mdx?|markdown)$/iu.test(short) ? short : `${short}.md`;
    const day = ownDays[index] || /\d{4}-\d{2}-\d{2}/u.exec(name)?.[0];
    return { path: path + name, title: ownTitles[index] || undefined, day };
  });
}
