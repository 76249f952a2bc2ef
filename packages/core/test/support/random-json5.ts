import { isDeepStrictEqual } from "node:util";
import json5 from "json5";
import { type ConfigEdit, editConfigText } from "../../src/config/edit.ts";

/** Sets the memory slot in a random configuration, of which nothing else may change. Returns the text where it fails. */
export async function wrongRandomEdit(seed: number): Promise<string | undefined> {
  const edit: ConfigEdit = { key: ["plugins", "slots", "memory"], value: "memory-mine" };
  const text = randomConfigText(seed);
  const edited = await editConfigText(text, [edit]);
  const { plugins, ...others } = json5.parse<{ plugins: { slots: { memory: string } } }>(edited);
  const { plugins: _plugins, ...othersBefore } = json5.parse<Record<string, unknown>>(text);
  const isRight =
    plugins.slots.memory === "memory-mine" &&
    isDeepStrictEqual(others, othersBefore) &&
    // What was there is still there, in its order: only a value was replaced, or something was put in between.
    isKept(text, edited, slotValueIn(text)) &&
    (await editConfigText(edited, [edit])) === edited;
  return isRight ? undefined : `${text}\n=>\n${edited}`;
}

/** The place of the value that is replaced; undefined where it is new. */
function slotValueIn(text: string): [number, number] | undefined {
  const marked = /SLOT_VALUE_\d+/.exec(text);
  return marked === null ? undefined : [marked.index, marked.index + marked[0].length];
}

/** True where `edited` is `text` with things put in between, but for the value that is replaced. */
function isKept(text: string, edited: string, replaced: [number, number] | undefined): boolean {
  if (replaced !== undefined) {
    const quoted: [number, number] = [replaced[0] - 1, replaced[1] + 1];
    const [head, tail] = [text.slice(0, quoted[0]), text.slice(quoted[1])];
    return (
      edited.startsWith(head) &&
      edited.endsWith(tail) &&
      /^["']memory-mine["']$/.test(edited.slice(head.length, edited.length - tail.length))
    );
  }
  let at = 0;
  for (let index = 0; index < edited.length; index++) if (edited[index] === text[at]) at += 1;
  const inserted = edited.length - text.length;
  return at === text.length && inserted > 0 && inserted < 200;
}

/** A configuration of any look: comments, quotes, escapes, commas, line ends and nesting by chance. Reproducible. */
function randomConfigText(seed: number): string {
  let state = seed * 2_654_435_761;
  const random = (): number => {
    state = (Math.imul(state ^ (state >>> 15), 2_246_822_519) + 0x9e3779b9) | 0;
    return ((state ^ (state >>> 13)) >>> 0) / 2 ** 32;
  };
  const pick = <T>(choices: readonly T[]): T => choices[Math.floor(random() * choices.length)] as T;
  const eol = pick(["\n", "\n", "\r\n", "\r"]);
  const unit = pick(["  ", "    ", "\t", ""]);
  let marked = 0;

  function space(depth: number): string {
    return Array.from({ length: Math.floor(random() * 3) }, () =>
      pick([
        " ",
        "",
        eol,
        `${eol}${unit.repeat(depth)}`,
        "\u{a0}",
        "\u{feff}",
        "\t",
        ` // a } comment, with "quotes" and { brackets${eol}`,
        "/* one, two: { */",
        `/* over${eol} lines ] */`,
        "//\u{2028}",
      ]),
    ).join("");
  }
  function name(text: string): string {
    const escaped = `${text.slice(0, -1)}\\u${text
      .charCodeAt(text.length - 1)
      .toString(16)
      .padStart(4, "0")}`;
    return pick([text, text, `"${text}"`, `'${text}'`, `'${escaped}'`, escaped]);
  }
  function scalar(): string {
    return pick([
      "1",
      "-.5",
      "+0x1F",
      "Infinity",
      "-NaN",
      "null",
      "true",
      '"a // b"',
      "'it\\'s /* no */ comment'",
      `"over \\${eol}lines"`,
      '"}"',
      "'\\\\'",
      "'中文 🙂'",
      "[]",
      "{}",
    ]);
  }
  function value(depth: number): string {
    const kind = depth > 3 ? 0 : random();
    if (kind < 0.6) return scalar();
    if (kind < 0.8) return group(["a", "b", "plugins", "slots", "memory"], depth, value);
    return `[${list(
      Array.from({ length: Math.floor(random() * 3) }, () => value(depth + 1)),
      depth,
    )}]`;
  }
  function list(parts: readonly string[], depth: number): string {
    const comma = random() < 0.4 && parts.length > 0 ? "," : "";
    return parts.map((part) => `${space(depth)}${part}${space(depth)}`).join(",") + comma + space(depth);
  }
  function group(names: readonly string[], depth: number, valueOf: (depth: number, name: string) => string): string {
    const chosen = names.filter(() => random() < 0.5);
    const members = chosen.map((each) => `${name(each)}${space(depth)}:${space(depth)}${valueOf(depth + 1, each)}`);
    return `{${list(members, depth + 1)}}`;
  }
  function slots(depth: number): string {
    return group(["other", "memory"], depth, (inner, each) => {
      if (each !== "memory") return value(inner);
      const quote = pick(['"', "'"]);
      return `${quote}SLOT_VALUE_${++marked}${quote}`;
    });
  }
  function plugins(depth: number): string {
    return group(["deny", "slots", "entries"], depth, (inner, each) =>
      each === "slots" ? slots(inner) : value(inner),
    );
  }
  const members = ["agents", "plugins", "memory"];
  const text = group(members, 0, (depth, each) => (each === "plugins" ? plugins(depth) : value(depth)));
  return `${space(0)}${text}${space(0)}`;
}
