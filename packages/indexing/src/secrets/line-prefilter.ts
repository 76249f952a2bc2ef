import table from "./signs.json" with { type: "json" };

/** Bits for what a line may contain, from its character trigrams: false positives only. */
export const lineSigns = {
  name: 1,
  address: 2,
  header: 4,
  login: 8,
  password: 16,
  phrase: 32,
  cookie: 64,
  codes: 128,
  longPiece: 256,
  longWord: 512,
} as const;

export type LineSign = keyof typeof lineSigns;

/** For each word, three characters that are rare in others (two in dense scripts). */
const byPiece = signsBy(table.pieces, (word) =>
  Array.from(word).reduce((all, each) => nextPiece(all, each.charCodeAt(0)), 0),
);
const byPair = signsBy(table.pairs, (word) => pairOf(word.charCodeAt(0), word.charCodeAt(1)));

function signsBy(words: Partial<Record<LineSign, string>>, placeOf: (word: string) => number): Uint16Array {
  const signs = new Uint16Array(1 << 15);
  for (const [sign, list] of Object.entries(words))
    for (const place of list.split(" ").map(placeOf)) signs[place] = (signs[place] ?? 0) | lineSigns[sign as LineSign];
  return signs;
}

/** By code: 2 for characters of a long word, and 1 for these and what else a long piece has. */
const classes = Uint8Array.from({ length: 128 }, (_, code) => {
  const character = String.fromCharCode(code);
  return /[\w%+/~-]/.test(character) ? 3 : /[.:=;]/.test(character) ? 1 : 0;
});
const longest = 20;

/** The signs of a line. Large and small letters are the same, and other characters share a place with some of them. */
export function signsOf(line: string): number {
  let signs = 0;
  let piece = 0;
  let before = 0;
  let pieceLength = 0;
  let wordLength = 0;
  for (let index = 0; index < line.length; index++) {
    const code = line.charCodeAt(index);
    piece = nextPiece(piece, code);
    if (code > 127 || before > 127) signs |= byPair[pairOf(before, code)] ?? 0;
    else if (code === at) signs |= lineSigns.address | lineSigns.login;
    else signs |= byPiece[piece] ?? 0;
    before = code;
    const kind = code < 128 ? classes[code] : 0;
    pieceLength = kind === 0 ? 0 : pieceLength + 1;
    wordLength = kind === 3 ? wordLength + 1 : 0;
    if (pieceLength === longest) signs |= lineSigns.longPiece;
    if (wordLength === longest) signs |= lineSigns.longWord;
  }
  return signs;
}

const at = 0x40;

function pairOf(first: number, second: number): number {
  return (((first & ~32) * 31) ^ (second & ~32)) & 0x7fff;
}

function nextPiece(piece: number, code: number): number {
  return ((piece << 5) | (code & 31)) & 0x7fff;
}
