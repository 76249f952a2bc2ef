import { isAsked } from "../chunk-store.ts";
import type { SearchedSource } from "../search/search-outcome.ts";
import { timeOfPath } from "../text/times/time-of-path.ts";
import type { StoredFiles } from "./stored-files.ts";

/** Gives the days, in order, that there are notes of in these places, by their names. Nobody learns of what may not be seen. */
export function createNoteDays(): (files: StoredFiles, places: readonly SearchedSource[]) => number[] {
  let known: { files: StoredFiles; dated: { path: string; source: string; day: number }[] } | undefined;
  return (files, places) => {
    if (known?.files !== files) known = { files, dated: datedIn(files) };
    const days = new Set<number>();
    for (const file of known.dated) {
      const isSeen = places.some(({ source, scope }) => isAsked(file, { sources: [source], scope }));
      if (isSeen) days.add(file.day);
    }
    return [...days].toSorted((a, b) => a - b);
  };
}

function datedIn(files: StoredFiles): { path: string; source: string; day: number }[] {
  return [...files].flatMap(([source, own]) =>
    [...own.keys()].flatMap((path) => {
      const day = timeOfPath(path)?.from;
      return day === undefined ? [] : [{ path, source, day }];
    }),
  );
}
