/** A text as it is compared: small letters, no accents, simplified characters; and where each part of it stood. */
export interface FoldedText {
  text: string;
  /** For each place in `text`, and for its end, the place in the text as it was written. */
  offsets: readonly number[];
}

/** Of the traditional characters those that the words for times, and for asking about them, are written with. */
const traditional = "週號這個兩後來過從間聖誕節國慶麼發們筆記錄寫總結給訴幾裡點勞動灣時當內萬無列";
const simplified = "周号这个两后来过从间圣诞节国庆么发们笔记录写总结给诉几里点劳动湾时当内万无列";
const replaced = new Map<string, string>([
  ...[...traditional].map((character, index): [string, string] => [character, [...simplified][index] ?? character]),
  ["’", "'"],
  ["ʼ", "'"],
  ["–", "-"],
  ["—", "-"],
  ["−", "-"],
  ["～", "-"],
  ["~", "-"],
]);

export function foldText(written: string): FoldedText {
  let text = "";
  const offsets: number[] = [];
  let at = 0;
  for (const character of written) {
    const folded = foldCharacter(character);
    text += folded;
    for (let index = 0; index < folded.length; index++) offsets.push(at);
    at += character.length;
  }
  offsets.push(at);
  return { text, offsets };
}

function foldCharacter(character: string): string {
  if (/^[\x20-\x7e]$/.test(character) && character !== "~") return character.toLowerCase();
  return replaced.get(character) ?? character.normalize("NFKD").replaceAll(/\p{M}/gu, "").toLowerCase();
}
