/** What a line may hold, as far as a look at three characters at a time can say: it may hold less, but nothing else. */
export const lineSigns = {
  name: 1,
  address: 2,
  header: 4,
  login: 8,
  password: 16,
  phrase: 32,
  cookie: 64,
  codes: 128,
  words: 256,
} as const;

/** Of each word that is looked for, three characters that stand in few others. */
const pieces: readonly (readonly [sign: number, words: string])[] = [
  [
    lineSigns.name,
    "ssw ssp ssc pas pwd nwo ras enh htw esl eno dga asa lsz tif key oke rer uth ecr ede imn sid ssi sse srf cf_ li_ pat ogi @pw _pw psk loz",
  ],
  [lineSigns.header, "asi uth"],
  [
    lineSigns.login,
    "url wge ysq iad shp ogi s-c ede eds uga nme eso ssl pas smb squ dap tok otp 2fa mfa uth udo lpl ngo nfl kho lcm zip pmi nrm nmp rdp mdk hta yge tco -li ige ssw plu fi: cov kup cur key",
  ],
  [lineSigns.password, "ssw nnw ssp ras asw"],
  [lineSigns.phrase, "hra eed nem"],
  [lineSigns.cookie, "oki url"],
  [lineSigns.codes, "cod"],
];
/** The same with two characters, for scripts that have more of them. */
const pairs: readonly (readonly [sign: number, words: string])[] = [
  [lineSigns.name, "ña ło ös şi zó па 密码 密碼 口令 סי पा รห mậ كل パス 비밀 密钥 密鑰 金鑰 令牌 トー 토큰"],
  [lineSigns.login, "ès ло"],
  [lineSigns.password, "ña"],
];

const byPiece = new Uint16Array(1 << 15);
const byPair = new Uint16Array(1 << 15);
for (const [sign, words] of pieces)
  for (const word of words.split(" ")) {
    const piece = Array.from(word).reduce((all, character) => nextPiece(all, character.charCodeAt(0)), 0);
    byPiece[piece] = (byPiece[piece] ?? 0) | sign;
  }
for (const [sign, words] of pairs)
  for (const word of words.split(" ")) {
    const pair = pairOf(word.charCodeAt(0), word.charCodeAt(1));
    byPair[pair] = (byPair[pair] ?? 0) | sign;
  }

/** Words that may be of a phrase have so many letters, and so many stand one behind the other. */
const [fewestLetters, mostLetters, fewestWords] = [3, 8, 12];

/** The signs of a line. Large and small letters are the same, and other characters share a place with some of them. */
export function signsOf(line: string): number {
  let signs = 0;
  let piece = 0;
  let before = 0;
  let letters = 0;
  let words = 0;
  for (let index = 0; index < line.length; index++) {
    const code = line.charCodeAt(index);
    piece = nextPiece(piece, code);
    if (code > 127 || before > 127) signs |= byPair[pairOf(before, code)] ?? 0;
    else if (code === at) signs |= lineSigns.address | lineSigns.login;
    else signs |= byPiece[piece] ?? 0;
    before = code;
    const small = code | 32;
    if (small >= 0x61 && small <= 0x7a) letters++;
    else if (letters > 0) {
      words = letters >= fewestLetters && letters <= mostLetters ? words + 1 : 0;
      letters = 0;
      if (words === fewestWords) signs |= lineSigns.words;
    }
  }
  return letters >= fewestLetters && words >= fewestWords - 1 ? signs | lineSigns.words : signs;
}

const at = 0x40;

/** As in Cyrillic, where a large letter is 32 below the small one. */
function pairOf(first: number, second: number): number {
  return (((first & ~32) * 31) ^ (second & ~32)) & 0x7fff;
}

function nextPiece(piece: number, code: number): number {
  return ((piece << 5) | (code & 31)) & 0x7fff;
}
