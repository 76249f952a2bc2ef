import type { WhyTarget } from "../contract/search-why.ts";

/** Reads what a person names: `notes/x.md`, `notes/x.md:12`, `notes/x.md#L12`; anything else is the text of a line. */
export function whyTarget(written: string): WhyTarget {
  const text = written.trim();
  const named = /^(?<path>\S(?:.*\S)?\.\w{1,8})(?:(?::|#L)(?<line>[1-9]\d{0,8})(?:-L?\d+)?)?$/u.exec(text)?.groups;
  if (named?.["path"] === undefined) return { text };
  return { path: named["path"], ...(named["line"] !== undefined && { line: Number(named["line"]) }) };
}
