import { readdir } from "node:fs/promises";
import path from "node:path";
import { type Memory, type SearchReport, isAbort, messageOf } from "@memslot/core";
import { scanTerms } from "@memslot/indexing";
import { type DoctorCheck, failed, passed, warned } from "./doctor-check.ts";

const NAME = "search";

/** Takes a word out of a note and searches for it: the whole chain once, as a person would use it. */
export async function liveSearch(memory: Memory, signal: AbortSignal): Promise<DoctorCheck> {
  try {
    const note = await someNote(memory.workspaceDir);
    const word = note === undefined ? undefined : longestWord((await memory.readFile({ relPath: note, signal })).text);
    if (note === undefined || word === undefined) {
      return warned(
        NAME,
        "there is no note to search yet",
        `Write something into ${path.join(memory.workspaceDir, "MEMORY.md")}.`,
      );
    }
    let report: SearchReport | undefined;
    const startedAt = performance.now();
    const results = await memory.search(word, { signal, minScore: 0, onDebug: (given) => (report = given) });
    const { mode = "", state = "ok", reason, action } = (report as SearchReport | undefined) ?? {};
    const ms = Math.round(performance.now() - startedAt);
    if (results.length === 0)
      return failed(
        NAME,
        `"${word}" stands in ${note} and was not found: ${reason ?? "no reason given"}`,
        action ?? "Run memslot memory index --force.",
      );
    const found = `"${word}" of ${note}: ${results.length} found, ${mode}, ${ms} ms`;
    return state === "ok"
      ? passed(NAME, found)
      : warned(NAME, `${found}, but the memory is ${state}: ${reason ?? "no reason given"}`, action);
  } catch (error) {
    if (isAbort(error)) throw error;
    return failed(NAME, messageOf(error));
  }
}

/** A note that is likely there: MEMORY.md, else the last daily log. Undefined where there is neither. */
export async function someNote(workspaceDir: string): Promise<string | undefined> {
  const isNote = (name: string): boolean => name.toLowerCase().endsWith(".md");
  const files = async (folder: string): Promise<string[]> => {
    const entries = await readdir(path.join(workspaceDir, folder), { withFileTypes: true }).catch(() => []);
    return entries
      .filter((entry) => entry.isFile() && isNote(entry.name))
      .map(({ name }) => name)
      .toSorted();
  };
  const own = (await files(".")).find((name) => ["MEMORY.md", "memory.md", "USER.md"].includes(name));
  const daily = (await files("memory")).at(-1);
  return own ?? (daily === undefined ? undefined : `memory/${daily}`);
}

function longestWord(text: string): string | undefined {
  let longest: string | undefined;
  scanTerms(text, (_term, start, end, kind) => {
    const word = text.slice(start, end);
    if ((kind === "word" || kind === "pair") && word.length > (longest?.length ?? 1)) longest = word;
  });
  return longest;
}
