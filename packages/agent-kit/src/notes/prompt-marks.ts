/**
 * What marks turns, roles and tools in the prompts of models, by its shape: `<|…|>`, words in brackets that templates
 * have in common, and single tokens. Ordinary tags, code and conflict marks have other shapes.
 */
const marks = [
  String.raw`<\|(?=[^\s<>\|]*\p{L})[^\s<>\|]{1,80}\|>`,
  String.raw`<<\/?SYS>>`,
  String.raw`\[\/?(?:INST|SYSTEM_PROMPT|AVAILABLE_TOOLS|TOOL_(?:CALLS?|RESULTS?|CONTENT)|gMASK)\]`,
  String.raw`<\/?(?:(?:start|end|begin)_of_[a-z_]{1,40}|(?:fim|tool|function)_[a-z_]{1,40}|function=[\w.\-]{1,80})>`,
  String.raw`<\/?(?:bos|eos|sop|eop|unk|pad|(?:extra_id_|unused|SPECIAL_)\d{1,5}|[a-z]{2,20}_TOKEN)>`,
].join("|");
const anyMark = new RegExp(marks, "iv");

/** Signs that look like `<` and `>`, and the number of them that one stands for. */
const angle = String.raw`(?:[<>\u02C2\u02C3\u1438\u1433]|[\p{Bidi_Mirrored}--\p{ASCII}])`;
const edge = new RegExp(
  String.raw`^[\s\-*+\|]*(?<signs>${angle}(?:\s?${angle})*).*?(?:\s|${angle})[0-9a-f]{12,64}$`,
  "iv",
);
const triple = /[\u22D8\u22D9\u2AF7\u2AF8]/;
const double = /[«»\u226A\u226B\u300A\u300B\u27EA\u27EB\u2AA1\u2AA2]/;

/** The first sign in a text that a model may take for the beginning or the end of a turn; undefined where there is none. */
export function promptMark(text: string): string | undefined {
  const folded = text.normalize("NFKC");
  const mark = anyMark.exec(folded)?.[0];
  if (mark !== undefined) return mark;
  // With its beginning it strikes words out in HTML; alone it ends a turn.
  return countOf(folded, "</s>") > countOf(folded, "<s>") ? "</s>" : undefined;
}

/** A text without such signs: where it holds one, no bracket in it stays. */
export function withoutPromptMarks(text: string): string {
  if (promptMark(text) === undefined) return text;
  return Array.from(text, (sign) => (/^[<>|[\]]$/.test(sign.normalize("NFKC")) ? " " : sign)).join("");
}

/** Whether a line looks like the edge of a recalled text: three signs of `<` or `>` and a key, in whatever shape. */
export function isFrameEdge(line: string): boolean {
  const signs = edge.exec(line.normalize("NFKC").trim())?.groups?.["signs"] ?? "";
  let count = 0;
  for (const sign of signs.replaceAll(/\s/g, "")) count += triple.test(sign) ? 3 : double.test(sign) ? 2 : 1;
  // Seven of them mark a conflict in a file under version control.
  return count >= 3 && count < 7;
}

function countOf(text: string, part: string): number {
  return text.split(part).length - 1;
}
