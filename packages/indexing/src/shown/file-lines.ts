import { type Memory, isAbort } from "@memslot/core";

/**
 * Lines of a file as they stand there, from the first to the last, both 1-based; fewer where the file ends before.
 * Undefined where the memory does not give out its lines: a transcript, a journal, a file that is gone.
 */
export async function fileLines(
  memory: Pick<Memory, "readFile">,
  place: { path: string; from: number; to: number; signal: AbortSignal },
): Promise<string[] | undefined> {
  const lines: string[] = [];
  let from = place.from;
  try {
    while (from <= place.to) {
      const read = await memory.readFile({
        relPath: place.path,
        from,
        lines: place.to - from + 1,
        signal: place.signal,
      });
      if (read.status !== "ok") return undefined;
      // Behind the lines stands a notice where more follows.
      lines.push(...read.text.split("\n").slice(0, read.lines ?? 0));
      if (read.nextFrom === undefined || read.nextFrom <= from) break;
      from = read.nextFrom;
    }
  } catch (error) {
    if (isAbort(error)) throw error;
    // What was found is shown without the numbers of its lines: that it cannot be read anymore is no fault of the answer.
    return undefined;
  }
  return lines;
}
