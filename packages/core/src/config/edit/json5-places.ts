/** Where a value stands in JSON5 text: from `start` up to, and without, `end`. */
export interface PlacedValue {
  readonly start: number;
  readonly end: number;
  /** Of an object, in their order; a name may stand there twice. */
  readonly members?: readonly PlacedMember[] | undefined;
  /** Of a list. */
  readonly items?: readonly PlacedItem[] | undefined;
  /** Of anything else: what it means. */
  readonly parsed?: unknown;
}

export interface PlacedItem {
  readonly value: PlacedValue;
  /** The comma behind it, where there is one. */
  readonly comma: number | undefined;
}

interface PlacedMember extends PlacedItem {
  readonly name: string | undefined;
}

const lineBreak = /[\n\r\u2028\u2029]/;

/**
 * Finds where every value of a JSON5 text stands. The text has been parsed before, so that it is known to be right:
 * this looks for the ends of things and checks nothing. `parse` reads JSON5.
 */
export function placesIn(text: string, parse: (text: string) => unknown): PlacedValue {
  let at = 0;
  skip();
  return value();

  function value(): PlacedValue {
    const start = at;
    const opening = text[at];
    if (opening === "{") {
      const members = listed("}", () => {
        const name = key();
        skip();
        at += 1; // The colon.
        skip();
        return { name, value: value() };
      });
      return { start, end: at, members };
    }
    if (opening === "[") {
      const items = listed("]", () => ({ value: value() }));
      return { start, end: at, items };
    }
    if (opening === '"' || opening === "'") quoted();
    else while (at < text.length && !/[\s,\]}/]/.test(text[at] ?? "")) at += 1;
    return { start, end: at, parsed: parse(text.slice(start, at)) };
  }

  /** What stands between two brackets. */
  function listed<Part>(closing: string, part: () => Part): (Part & { comma: number | undefined })[] {
    const parts: (Part & { comma: number | undefined })[] = [];
    at += 1;
    for (skip(); text[at] !== closing; skip()) {
      if (at >= text.length) throw new SyntaxError(`JSON5 ends before its ${closing}`);
      const found = part();
      skip();
      const comma = text[at] === "," ? at : undefined;
      if (comma !== undefined) at += 1;
      parts.push({ ...found, comma });
    }
    at += 1;
    return parts;
  }

  function key(): string | undefined {
    const start = at;
    if (text[at] === '"' || text[at] === "'") quoted();
    else while (at < text.length && !/[\s:/]/.test(text[at] ?? "")) at += 1;
    return Object.keys(parse(`{${text.slice(start, at)}:0}`) as object)[0];
  }

  function quoted(): void {
    const quote = text[at];
    for (at += 1; at < text.length && text[at] !== quote; at += 1) if (text[at] === "\\") at += 1;
    at += 1;
  }

  /** Passes over white space and comments. */
  function skip(): void {
    for (; at < text.length; at += 1) {
      if (text.startsWith("//", at)) while (at < text.length && !lineBreak.test(text[at] ?? "")) at += 1;
      else if (text.startsWith("/*", at)) at = text.indexOf("*/", at + 2) + 1;
      else if (!/\s/.test(text[at] ?? "")) return;
    }
  }
}
