import { isDeepStrictEqual } from "node:util";
import { TomlError, parse, stringify } from "smol-toml";
import { isOwnServer } from "./detect-memslot-entries.ts";
import { type TextEdit, UnusableFile, formOf, markedBlock, plain, tomlMarkers } from "./text-edit.ts";

/** A table of one line, as `inlineOf` writes it. */
const flat = String.raw`[^{}"\n]|"(?:[^"\\\n]|\\.)*"`;
const ownInline = new RegExp(String.raw`(?<=\{[^\n]*)memslot = \{(?:${flat}|\{(?:${flat})*\})*\}(?:, )?`, "u");

/** A table of a TOML file, in a block at its end or in its inline group. A table of the user's is left unchanged. */
export function tomlEdit(table: readonly [string, string], value: object): TextEdit {
  const [group, name] = table;
  const lines = stringify({ [group]: { [name]: value } })
    .trim()
    .split("\n");
  const block = markedBlock(lines, tomlMarkers);
  const remove = (text: string): string => withoutInline(block.remove(text));
  return {
    put(text) {
      const bare = remove(text);
      const before = tomlOf(bare);
      if (tableAt(before, table) !== undefined)
        throw new UnusableFile(`[${table.join(".")}] exists already: remove it, or leave it as it is`);
      const isDone = (after: string): boolean => {
        const now = tomlOf(after, "with the new table");
        return isDeepStrictEqual(tableAt(now, table), value) && isDeepStrictEqual(others(now), others(before));
      };
      const inline = inlinePuts(bare).find((after) => holds(() => isDone(after)));
      if (inline !== undefined) return inline;
      const after = block.put(text);
      if (!isDone(after)) throw new UnusableFile("it cannot be changed without changing something else in it");
      return after;
    },
    remove,
    isEmpty: (text) => block.isEmpty(text),
  };

  /** The text with the table in each inline table that may be its group. */
  function inlinePuts(text: string): string[] {
    const open = new RegExp(`^[\\t ]*["']?${group}["']?[\\t ]*=[\\t ]*\\{[\\t ]*`, "gmu");
    return [...text.matchAll(open)].flatMap(({ 0: found, index }) => {
      const end = index + found.length;
      return [", ", ""].map((comma) => `${text.slice(0, end)}${name} = ${inlineOf(value)}${comma}${text.slice(end)}`);
    });
  }

  function withoutInline(text: string): string {
    const found = ownInline.exec(text);
    if (found === null) return text;
    const left = text.slice(0, found.index) + text.slice(found.index + found[0].length);
    const isOurs = holds(() => isOwnServer(tableAt(tomlOf(text), table)) && tableAt(tomlOf(left), table) === undefined);
    return isOurs ? left : text;
  }

  function others(value: Record<string, unknown>): unknown {
    const { [group]: servers, ...rest } = value;
    const { [name]: _, ...left } = (servers ?? {}) as Record<string, unknown>;
    return { ...rest, [group]: left };
  }
}

function inlineOf(value: unknown): string {
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map(inlineOf).join(", ")}]`;
  const members = Object.entries(value).map(([name, each]) => `${JSON.stringify(name)} = ${inlineOf(each)}`);
  return `{ ${members.join(", ")} }`;
}

/** False also if the text is not TOML. */
function holds(check: () => boolean): boolean {
  try {
    return check();
  } catch (error) {
    if (error instanceof UnusableFile) return false;
    throw error;
  }
}

/** The value of a TOML file. Throws `UnusableFile` with the line of the error. */
export function tomlOf(text: string, how = ""): Record<string, unknown> {
  try {
    return plain(parse(formOf(text).body, { integersAsBigInt: "asNeeded" })) as Record<string, unknown>;
  } catch (error) {
    if (!(error instanceof TomlError)) throw error;
    const [problem = ""] = error.message.split("\n");
    throw new UnusableFile(
      `it is not TOML${how && ` ${how}`}: ${problem.replace(/^Invalid TOML document: /u, "")}`,
      error.line,
    );
  }
}

function tableAt(value: Record<string, unknown>, [group, name]: readonly [string, string]): unknown {
  const servers = value[group];
  return typeof servers === "object" && servers !== null ? (servers as Record<string, unknown>)[name] : undefined;
}
