import { type Node, type SyntaxKind, createScanner } from "jsonc-parser";

// The library has these only as a const enum, which type stripping removes.
const commaToken: SyntaxKind = 5;
const lineComment: SyntaxKind = 12;
const blockComment: SyntaxKind = 13;
const blank: SyntaxKind = 15;

export interface Splice {
  readonly offset: number;
  readonly length: number;
  readonly text: string;
}

export interface JsonLook {
  readonly unit: string;
  readonly lineEnd: string;
}

/** The indentation of a text: that of its first indented member, else two spaces. */
export function lookOf(text: string, lineEnd: string): JsonLook {
  return { unit: /^(?<unit>[\t ]+)["[{]/mu.exec(text)?.groups?.["unit"] ?? "  ", lineEnd };
}

/** A value as JSON, for a line that is indented by `indent`. */
export function written(value: unknown, indent: string, { unit, lineEnd }: JsonLook): string {
  return JSON.stringify(value, undefined, unit).replaceAll("\n", `${lineEnd}${indent}`);
}

/** A new last member of an object or, without a `name`, of a list. Comments and one-line form stay. */
export function insertion(
  text: string,
  container: Node,
  member: { name?: string | undefined; value: unknown },
  look: JsonLook,
): Splice[] {
  const closing = container.offset + container.length - 1;
  const last = container.children?.at(-1);
  const label = member.name === undefined ? "" : `${JSON.stringify(member.name)}: `;
  const outer = indentAt(text, container.offset);
  if (last === undefined) {
    const indent = outer + look.unit;
    const content = `${look.lineEnd}${indent}${label}${written(member.value, indent, look)}`;
    const inner = text.slice(container.offset + 1, closing);
    // An empty container can contain comments.
    if (inner.trim() !== "") {
      const end = container.offset + 1 + inner.trimEnd().length;
      return [{ offset: end, length: closing - end, text: `${content}${look.lineEnd}${outer}` }];
    }
    return [{ offset: container.offset + 1, length: inner.length, text: `${content}${look.lineEnd}${outer}` }];
  }
  const lastEnd = last.offset + last.length;
  if (!/[\r\n]/u.test(text.slice(container.offset, closing))) {
    const comma = commaBehind(text, lastEnd, closing) === undefined ? "," : "";
    const at = comma === "" ? text.slice(0, closing).trimEnd().length : lastEnd;
    return [{ offset: at, length: 0, text: `${comma} ${label}${JSON.stringify(member.value)}` }];
  }
  const indent = startsLine(text, last.offset) ? indentAt(text, last.offset) : outer + look.unit;
  const content = `${look.lineEnd}${indent}${label}${written(member.value, indent, look)}`;
  const comma = commaBehind(text, lastEnd, closing);
  const at = endOfLine(text, comma === undefined ? lastEnd : comma + 1, closing);
  const isLastLine = !text.slice(at, closing).includes("\n");
  const ending = isLastLine ? `${look.lineEnd}${outer}` : "";
  return [
    ...(comma === undefined ? [{ offset: lastEnd, length: 0, text: "," }] : []),
    { offset: at, length: 0, text: content + ending },
  ];
}

/** Removes a member of an object, or an item of a list, with its comma. Comments around it stay. */
export function removal(text: string, container: Node, member: Node): Splice[] {
  const members = container.children ?? [];
  const before = members[members.indexOf(member) - 1];
  const closing = container.offset + container.length - 1;
  const end = member.offset + member.length;
  const comma = commaBehind(text, end, closing);
  // Without a comma it is the last one, and the comma before it goes.
  const earlier =
    comma === undefined && before !== undefined ? commaBehind(text, before.offset + before.length, closing) : undefined;
  const isBlank = (from: number, to: number): boolean => text.slice(from, to).trim() === "";
  const stop = comma !== undefined && isBlank(end, comma) ? comma + 1 : end;
  if (earlier !== undefined && isBlank(earlier + 1, member.offset))
    return [{ offset: earlier, length: stop - earlier, text: "" }];
  const blanks = /^[\t ]*/u.exec(text.slice(stop))?.[0].length ?? 0;
  const isWholeLine = startsLine(text, member.offset) && /^(?:\r?\n|$)/u.test(text.slice(stop + blanks));
  const lineBreak = text.slice(0, text.lastIndexOf("\n", member.offset - 1)).replace(/\r$/u, "").length;
  const offset = isWholeLine ? lineBreak : member.offset;
  return [
    ...(earlier === undefined ? [] : [{ offset: earlier, length: 1, text: "" }]),
    { offset, length: stop + blanks - offset, text: "" },
    ...(comma === undefined || stop > comma ? [] : [{ offset: comma, length: 1, text: "" }]),
  ];
}

export function spliced(text: string, splices: readonly Splice[]): string {
  let result = text;
  for (const { offset, length, text: put } of splices.toReversed())
    result = result.slice(0, offset) + put + result.slice(offset + length);
  return result;
}

export function indentAt(text: string, offset: number): string {
  const start = text.lastIndexOf("\n", offset - 1) + 1;
  return /^[\t ]*/u.exec(text.slice(start, offset))?.[0] ?? "";
}

function startsLine(text: string, offset: number): boolean {
  return text.slice(text.lastIndexOf("\n", offset - 1) + 1, offset).trim() === "";
}

/** The position of the comma after the last member, which some files have. */
function commaBehind(text: string, from: number, closing: number): number | undefined {
  const scanner = createScanner(text, true);
  scanner.setPosition(from);
  if (scanner.scan() !== commaToken) return undefined;
  const at = scanner.getTokenOffset();
  return at < closing ? at : undefined;
}

function endOfLine(text: string, from: number, closing: number): number {
  const scanner = createScanner(text, false);
  scanner.setPosition(from);
  let end = from;
  for (;;) {
    const kind = scanner.scan();
    const isComment = kind === lineComment || kind === blockComment;
    if (kind !== blank && !isComment) return end;
    if (scanner.getTokenOffset() >= closing) return end;
    if (!isComment) continue;
    const commentEnd = scanner.getTokenOffset() + scanner.getTokenLength();
    end = commentEnd;
    if (kind === lineComment || text.slice(from, commentEnd).includes("\n")) return end;
  }
}
