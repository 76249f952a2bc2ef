/** Replaces binary data. Without letters and digits, so it gives no term and no chunk. */
const dataMark = "[…]";
export const furtherData = "\0";

const shortestRun = 200;
/** Shorter payloads of a data URI are examples. */
const [shortestBase64, shortestOther] = [16, 100];
const longestNamed = 4000;
/** Identifiers and paths are shorter. */
const surelyData = 1000;
/** Class changes, digits and special characters that tell encoded data, as shares. */
const [fewestChanges, fewestDigits, mostJoiners] = [0.4, 0.02, 0.125];
const [shortestRow, longestRow] = [60, 1000];
const hashLengths: ReadonlySet<number> = new Set([64, 96, 128]);
const mostBlank = 40;

// Unbounded repeated classes overflow the stack on a line of 16 MB, so ends are searched separately.
const uriStart = /(?<![\p{L}\p{N}])data:(?:[\w.+-]{1,100}\/[\w.+-]{1,100})?(?:;[\w.+=-]{1,100}){0,5},/giu;
const row = /^[\s>]*([\w+/-]+={0,2}|\[…\])\s*$/;
const lastRow = /^([\s>]{0,100})[\w+/-]{0,1000}={0,2}(?=[)"'>])/;
const drawing = /^\s*(?:`{3,}|~{3,})\s*compressed-json\b/;
const token = /^[\w-]+\.[\w-]+\.[\w-]*(?![\w-]|\.[\w-])/;

const [wordEnd, other, dot, joiner, sign] = [0, 1, 2, 3, 4];
/** By code. The last two kinds are characters of base64. */
const kinds = Uint8Array.from({ length: 128 }, (_, code) => {
  const character = String.fromCharCode(code);
  if (/[\s"'`()<>]/.test(character)) return wordEnd;
  return /[\w-]/.test(character) ? sign : /[+/]/.test(character) ? joiner : character === "." ? dot : other;
});

/** Replaces data URIs and long encoded runs by a mark. Line numbers stay. */
export function withoutData(lines: readonly string[]): string[] {
  let passed: number | undefined;
  let isDrawing = false;
  return lines.map((line, index) => {
    const data = rowIn(line);
    const isRow = data !== undefined && (isDrawing || data === dataMark || data.length >= shortestRow);
    if (passed !== undefined) {
      const further = passed++ < mostBlank ? "" : furtherData;
      if (isRow || (isDrawing && line.trim() === "")) return further;
      const isEnd = !isDrawing && passed > 1;
      [passed, isDrawing] = [undefined, false];
      if (isEnd && data !== undefined && /[\d+/=]|[a-z][A-Z]/.test(data)) return further;
      if (isEnd && lastRow.test(line)) return line.replace(lastRow, "$1");
    }
    const kept = (isDrawing && isRow) || isBlock(lines, index, data) ? dataMark : withoutRuns(line);
    if (kept.endsWith(dataMark)) passed = 0;
    else isDrawing = drawing.test(line);
    return kept;
  });
}

/** The same before secret detection: random data is slow and looks like secrets. */
export function withoutPictures(lines: readonly string[]): readonly string[] {
  return lines.some((line) => line.includes("PRIVATE KEY")) ? lines : withoutData(lines);
}

function rowIn(line: string): string | undefined {
  return line.length > longestRow ? undefined : row.exec(line)?.[1];
}

/** Whether data that is broken into lines of one length begins here. A list of hashes is none. */
function isBlock(lines: readonly string[], index: number, first = ""): boolean {
  if (first.length < shortestRow || first.length % 4 > 0) return false;
  if (hashLengths.has(first.length) && /^[\da-f]+$/i.test(first)) return false;
  let all = first;
  for (let next = index + 1; all.length < shortestRun; next++) {
    const further = rowIn(lines[next] ?? "") ?? "";
    all += further;
    if (further.length !== first.length) break;
  }
  return all.length >= shortestRun && looksEncoded(all);
}

function withoutRuns(line: string): string {
  const text = /data:/i.test(line) ? withoutUris(line) : line;
  if (text.length < shortestRun) return text;
  let kept = "";
  let end = 0;
  let [word, name, run] = [0, 0, 0];
  for (let at = 0; at <= text.length; at++) {
    const kind = kinds[text.charCodeAt(at)] ?? wordEnd;
    if (kind === sign) continue;
    if (kind !== joiner) {
      if (at - run >= shortestRun && isData(text, { word, name, run, end: at })) {
        kept += text.slice(end, run) + dataMark;
        end = at + (/^={1,2}/.exec(text.slice(at, at + 2))?.[0].length ?? 0);
      }
      run = at + 1;
    }
    if (kind !== dot) name = at + 1;
    if (kind === wordEnd) word = at + 1;
  }
  return kept + text.slice(end);
}

function withoutUris(line: string): string {
  let kept = "";
  let end = 0;
  for (const { 0: start, index } of line.matchAll(uriStart)) {
    const from = index + start.length;
    const isBase64 = /;base64,$/i.test(start);
    const quote = /["']/.exec(line[index - 1] ?? "")?.[0] ?? String.raw`\s)>"`;
    const ends = new RegExp(isBase64 ? "[^\\w+/=%-]" : `[${quote}]`, "g");
    ends.lastIndex = from;
    const to = index < end ? from : (ends.exec(line)?.index ?? line.length);
    if (to - from < (isBase64 ? shortestBase64 : shortestOther)) continue;
    kept += line.slice(end, index) + dataMark;
    end = to;
  }
  return kept + line.slice(end);
}

/** Whether a run is data, and no part of an address or of a JWT. `word` and `name`: where what it is in begins. */
function isData(text: string, { word, name, run, end }: Record<"word" | "name" | "run" | "end", number>): boolean {
  if (end - run <= longestNamed) {
    if (text.slice(Math.max(word, run - longestNamed), run + 2).includes("://")) return false;
    if (run - name < longestNamed && token.test(text.slice(name, end + longestNamed))) return false;
  }
  return looksEncoded(text.slice(run, end));
}

function looksEncoded(run: string): boolean {
  if (!/\d/.test(run)) return false;
  if (!/[^\da-f]/i.test(run.replace(/^0x/i, ""))) return true;
  if (!/[a-z]/.test(run) || !/[A-Z]/.test(run)) return false;
  if (run.length >= surelyData) return true;
  const count = (pattern: RegExp): number => run.match(pattern)?.length ?? 0;
  const changes = count(/[a-z](?=[A-Z\d])|[A-Z](?=[a-z\d])|\d(?=[A-Za-z])/g);
  return (
    changes >= fewestChanges * count(/([A-Za-z\d])(?!\1)(?=[A-Za-z\d])/g) &&
    count(/(\d)(?!\1)/g) >= fewestDigits * run.length &&
    count(/([/_+-])(?!\1)/g) <= mostJoiners * run.length
  );
}
