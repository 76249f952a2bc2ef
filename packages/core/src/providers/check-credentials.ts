import { MemoryError } from "../contract/errors.ts";

/** A key and where it came from, as `OPENAI_API_KEY` or `remote.apiKey`. */
export interface FoundKey {
  value: string;
  source: string;
}

/** For embedding plugins. Throws `CONFIG` for a key that no server can know, with where it came from and without the key. */
export function checkKey({ value, source }: FoundKey): void {
  const problem = problemOf(value);
  if (problem !== undefined) throw new MemoryError("CONFIG", `the key from ${source} cannot be right: ${problem}`);
}

function problemOf(key: string): string | undefined {
  if (/\$\{|\$[A-Za-z_]\w*$/.test(key))
    return "it is the name of a variable in place of the key; set that variable, or write the key";
  if (/^bearer\s/i.test(key.trim())) return 'it begins with "Bearer"; leave that word out';
  if (/["'`“”‘’]/.test(key)) return "it has quotes around or in it; leave them out";
  if (/\s/.test(key)) return "it has white space (a blank or a line break) around or in it; leave it out";
  if (/[^\x21-\x7e]/.test(key)) return "it has a character that no key has; copy it anew";
  return undefined;
}

/** For embedding plugins. Throws `CONFIG` for a header of `remote.headers` that cannot be sent, with its name and without its value. */
export function checkHeader(name: string, value: string): void {
  try {
    new Headers().set(name, value);
  } catch {
    // No cause: its words hold the value.
    throw new MemoryError(
      "CONFIG",
      `remote.headers: ${JSON.stringify(name)} cannot be sent: a name has letters, digits and hyphens, a value is one line of plain characters`,
    );
  }
}
