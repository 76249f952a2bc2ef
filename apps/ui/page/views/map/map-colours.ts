import type { MemoryMap } from "@memslot/core";

export type ColourBy = "source" | "age";

/** Points of one colour, and its meaning. */
export interface Kind {
  label: string;
  /** The name of a CSS variable. */
  colour: string;
}

const sourceColours = ["--part-words", "--part-dates", "--part-meaning", "--part-names", "--part-rerank"];
const ages = 5;

/** The kind of each point. By age, kinds have equal numbers of notes. */
export function kindsOf(map: MemoryMap, by: ColourBy): { kinds: Kind[]; ofPoint: Uint8Array } {
  const ofNote = by === "source" ? bySource(map) : byAge(map);
  return { kinds: ofNote.kinds, ofPoint: Uint8Array.from(map.note, (note) => ofNote.of[note] ?? 0) };
}

function bySource({ notes }: MemoryMap): { kinds: Kind[]; of: number[] } {
  const sources = [...new Set(notes.map(({ source }) => source))].slice(0, sourceColours.length);
  const kinds = sources.map((label, index) => ({ label, colour: sourceColours[index] ?? "" }));
  return { kinds, of: notes.map(({ source }) => Math.max(0, sources.indexOf(source))) };
}

function byAge({ notes }: MemoryMap): { kinds: Kind[]; of: number[] } {
  const days = notes.map(({ day }) => day).toSorted();
  const limits = Array.from({ length: ages }, (_, age) => days[Math.floor((age * days.length) / ages)] ?? "");
  const begins = [...new Set(limits)];
  const kinds = begins.map((label, index) => ({
    label: `${label} …`,
    colour: `--age-${index + ages - begins.length}`,
  }));
  return { kinds, of: notes.map(({ day }) => begins.findLastIndex((begin) => begin <= day)) };
}
