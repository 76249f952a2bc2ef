import type { MemoryMap } from "@memslot/core";
import { type Frame, toPixels } from "./map-viewport.ts";

export interface Drawn {
  map: MemoryMap;
  kinds: readonly Kind[];
  ofPoint: Uint8Array;
  /** The selected point and its neighbours. */
  focus: number | undefined;
  near: readonly number[];
}

/** Draws points grouped by colour: changing the colour costs more than a point. */
export function drawMap(canvas: HTMLCanvasElement, frame: Frame, { map, kinds, ofPoint, focus, near }: Drawn): void {
  const context = canvas.getContext("2d");
  if (context === null) return;
  const density = devicePixelRatio || 1;
  const [width, height] = [Math.round(frame.width * density), Math.round(frame.height * density)];
  if (canvas.width !== width || canvas.height !== height) Object.assign(canvas, { width, height });
  // A token is resolved for the colour scheme only as the value of a colour.
  const colour = (name: string): string => {
    canvas.style.color = `var(${name})`;
    return getComputedStyle(canvas).color;
  };
  context.setTransform(density, 0, 0, density, 0, 0);
  context.clearRect(0, 0, frame.width, frame.height);
  const size = Math.min(7, 2 + Math.sqrt(frame.scale / 400) + (map.x.length < 2_000 ? 2 : 0));
  for (const [kind, { colour: name }] of kinds.entries()) {
    context.fillStyle = colour(name);
    for (let index = 0; index < map.x.length; index++) {
      if (ofPoint[index] !== kind) continue;
      const [x, y] = toPixels(frame, map.x[index] ?? 0, map.y[index] ?? 0);
      if (x < -size || y < -size || x > frame.width + size || y > frame.height + size) continue;
      context.fillRect(x - size / 2, y - size / 2, size, size);
    }
  }
  const placeOf = (index: number): [number, number] => toPixels(frame, map.x[index] ?? 0, map.y[index] ?? 0);
  context.strokeStyle = colour("--text");
  if (focus !== undefined) {
    const [x, y] = placeOf(focus);
    context.lineWidth = 1;
    for (const index of near) {
      context.beginPath();
      context.moveTo(x, y);
      context.lineTo(...placeOf(index));
      context.stroke();
    }
    context.lineWidth = 2;
    context.strokeRect(x - size, y - size, 2 * size, 2 * size);
  }
  if (map.query !== undefined) {
    const [x, y] = toPixels(frame, ...map.query);
    context.strokeStyle = colour("--bad");
    context.lineWidth = 2;
    context.beginPath();
    context.arc(x, y, 9, 0, 2 * Math.PI);
    context.moveTo(x - 14, y);
    context.lineTo(x + 14, y);
    context.moveTo(x, y - 14);
    context.lineTo(x, y + 14);
    context.stroke();
  }
}

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
