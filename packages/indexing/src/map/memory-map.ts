import type { MapNote, MemoryMap, MemoryPluginContext, MemorySearchManager } from "@memslot/core";
import type { NoteIndex } from "../note-index.ts";
import type { MappedPassages } from "../ledger/ledger.ts";
import { spaceName } from "../chunk-store.ts";
import type { Embedder } from "../embedding/embedder.ts";
import { isoDate, localDay } from "../text/times/calendar.ts";
import { timeOfPath } from "../text/times/note-days.ts";
import { isObject, jsonOf, textAt } from "../json-values.ts";

const mostGrowth = 1.5;

/** Draws the map of a memory. */
export function createMemoryMap(
  store: NoteIndex,
  vectors: Embedder | undefined,
  { readOnly = false }: Pick<MemoryPluginContext, "readOnly">,
): NonNullable<MemorySearchManager["map"]> {
  return async ({ dimensions, signal }) => {
    const known = await vectors?.primary.knownSpace();
    const space = known !== undefined && (await store.spaceStats(known)).embedded > 0 ? known : undefined;
    const name = `space:map:${dimensions}:${space === undefined ? "words" : spaceName(space)}`;
    const { chunks } = await store.stats();
    const kept = keptIn(await store.noted(name), chunks);
    signal.throwIfAborted();
    const mapped = await store.mapPassages({ space, axes: kept, dimensions });
    if (!readOnly && kept === undefined && mapped.axes !== undefined)
      await store.note(name, JSON.stringify({ chunks, axes: mapped.axes }));
    return mapOf(mapped, space === undefined ? "words" : "meaning");
  };
}

function keptIn(text: string | undefined, chunks: number): string | undefined {
  const kept = jsonOf(text);
  const of = isObject(kept) ? Number(kept["chunks"]) : 0;
  const serves = of > 0 && chunks <= mostGrowth * of && of <= mostGrowth * chunks;
  return serves ? textAt(kept, "axes") : undefined;
}

function mapOf({ files, file, axes: _axes, fine, ...points }: MappedPassages, by: MemoryMap["by"]): MemoryMap {
  const notes = files.map(({ path, source, mtimeMs }): MapNote => {
    const day = timeOfPath(path)?.from ?? localDay(new Date(Math.max(0, mtimeMs)));
    return { path, source, day: isoDate(day) };
  });
  const bytes = fine && Buffer.from(fine.buffer, fine.byteOffset, fine.byteLength);
  return { by, notes, note: file, ...points, fine: bytes?.toString("base64") };
}
