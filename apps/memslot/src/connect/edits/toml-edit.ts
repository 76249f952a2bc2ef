import { isDeepStrictEqual } from "node:util";
import { TomlError, parse, stringify } from "smol-toml";
import { markedBlock, tomlMarkers } from "./marked-block.ts";
import { plain } from "./plain.ts";
import { formOf } from "./text-form.ts";
import type { TextEdit } from "./text-edit.ts";
import { UnusableFile } from "./unusable-file.ts";

/**
 * A table of a TOML file, in a block of its own at the end: no library writes TOML back with its comments. A table of this
 * name that stands elsewhere is somebody's own, and the file is left alone.
 */
export function tomlEdit(table: readonly [string, string], value: object): TextEdit {
  const [group, name] = table;
  const lines = stringify({ [group]: { [name]: value } })
    .trim()
    .split("\n");
  const block = markedBlock(lines, tomlMarkers);
  return {
    put(text) {
      const bare = block.remove(text);
      const before = tomlOf(bare);
      if (tableAt(before, table) !== undefined)
        throw new UnusableFile(`[${table.join(".")}] is there already: take it out, or leave it as it is`);
      const after = block.put(text);
      const now = tomlOf(after, "with the new table");
      if (!isDeepStrictEqual(tableAt(now, table), value) || !isDeepStrictEqual(others(now), others(before)))
        throw new UnusableFile("it cannot be changed without changing something else in it");
      return after;
    },
    remove: (text) => block.remove(text),
    isEmpty: (text) => block.isEmpty(text),
  };

  function others(value: Record<string, unknown>): unknown {
    const { [group]: servers, ...rest } = value;
    const { [name]: _, ...left } = (servers ?? {}) as Record<string, unknown>;
    return { ...rest, [group]: left };
  }
}

/** What a TOML file says. Throws `UnusableFile` with the line of what is wrong. */
export function tomlOf(text: string, how = ""): Record<string, unknown> {
  try {
    return plain(parse(formOf(text).body, { integersAsBigInt: "asNeeded" })) as Record<string, unknown>;
  } catch (error) {
    if (!(error instanceof TomlError)) throw error;
    const [problem = ""] = error.message.split("\n");
    throw new UnusableFile(
      `it is no TOML${how && ` ${how}`}: ${problem.replace(/^Invalid TOML document: /u, "")}`,
      error.line,
    );
  }
}

function tableAt(value: Record<string, unknown>, [group, name]: readonly [string, string]): unknown {
  const servers = value[group];
  return typeof servers === "object" && servers !== null ? (servers as Record<string, unknown>)[name] : undefined;
}
