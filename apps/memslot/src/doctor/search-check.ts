import { type Memory, isAbort, messageOf } from "@memslot/core";
import { scanTerms } from "@memslot/indexing";
import { redactSecrets } from "@memslot/indexing/host";
import { counted } from "../open/scan-summary.ts";
import { type DoctorCheck, failed, passed, warned } from "./doctor-check.ts";

const NAME = "search";

/** Searches for a word of a note, through the same calls as a user. */
export async function liveSearch(memory: Memory, signal: AbortSignal): Promise<DoctorCheck> {
  try {
    const note = await someNote(memory, signal);
    const read = note === undefined ? undefined : await memory.readFile({ path: note, signal });
    // Secrets are not indexed, and the note does not contain the line about more content.
    const word = read && longestWord(redactSecrets(read.text.replace(/\n\[More content available[^\n]*$/, "")));
    if (note === undefined || word === undefined) return passed(NAME, "not checked: no note with a word");
    const startedAt = performance.now();
    const { results, report } = await memory.ask(word, { signal, minScore: 0 });
    const { mode, state, reason, action } = report;
    if (results.length === 0)
      return failed(
        NAME,
        `"${word}" is in ${note} but was not found: ${reason ?? "no reason given"}`,
        action ?? "Run memslot memory index --force.",
      );
    const found = `"${word}" in ${note}: ${counted(results.length, "result")}, ${mode}, ${Math.round(performance.now() - startedAt)} ms`;
    return state === "ok"
      ? passed(NAME, found)
      : warned(NAME, `${found}, but the memory is ${state}: ${reason ?? "no reason given"}`, action);
  } catch (error) {
    if (isAbort(error)) throw error;
    return failed(NAME, messageOf(error));
  }
}

export async function someNote(memory: Memory, signal: AbortSignal): Promise<string | undefined> {
  const list = await memory.listFiles({ signal });
  if (list === undefined) return "MEMORY.md";
  const notes = list.files.filter(({ source }) => source === "memory");
  const last = notes.toSorted((left, right) => ((left.modified ?? "") < (right.modified ?? "") ? 1 : -1))[0];
  return (notes.find(({ path }) => path === "MEMORY.md") ?? last)?.path;
}

function longestWord(text: string): string | undefined {
  let longest: string | undefined;
  scanTerms(text, (_term, start, end, kind) => {
    const word = text.slice(start, end);
    if ((kind === "word" || kind === "pair") && word.length > (longest?.length ?? 1)) longest = word;
  });
  return longest;
}
