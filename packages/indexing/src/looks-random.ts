const shortest = 16;
const fewestDistinct = 8;
/** Of the places between two characters, the share where letters, digits and signs change, when it is at random. */
const leastChange = 0.27;

const uuid = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
/** Variables, templates, links, calls, paths, addresses. */
const written = /^(?:[$%<{([]|~\/|\.{1,2}\/|data:)|:\/\/|\$\{|\{\{|[\w.]\(|^[\w.+-]+@[\w-]+\.[\w.-]+$/;
/** One character six times (`A` is what zeros are in base64), a row of digits or letters, words that say it. */
const standIn = /([^A])\1{5}|1234567890|0123456789|abcdefgh|example|placeholder|change-?me|(?:^|[-_.])your/i;
const words = /^(?:[a-z]+[-_.]){2,}[a-z]*$|^(?:[A-Z]+[-_.]){2,}[A-Z]*$/;

/** Whether a text only shows where a secret would stand: `sk-xxxxxxxxxxxxxxxxxxxx`, `xoxb-your-token-here`. */
export function isPlaceholder(text: string): boolean {
  return standIn.test(text) || words.test(text);
}

/**
 * Whether a word could be a generated secret rather than what a person or a program has named: long enough, and letters,
 * digits and signs in frequent change. No UUID, no address, no path, no code, no placeholder.
 */
export function looksRandom(word: string): boolean {
  if (word.length < shortest || new Set(word).size < fewestDistinct) return false;
  if (uuid.test(word) || written.test(word) || isPlaceholder(word)) return false;
  const parts = word.split(/[-_./:+=~@,;]/).filter(Boolean);
  const kinds = new Set<Kind>();
  let changes = 0;
  let length = 0;
  for (const part of parts) {
    let before: Kind | undefined;
    for (const character of part) {
      const kind = kindOf(character);
      kinds.add(kind);
      if (before !== undefined && kind !== before) changes++;
      before = kind;
      length++;
    }
  }
  const hasLetters = kinds.has("lower") || kinds.has("upper");
  return hasLetters && (kinds.has("digit") || kinds.has("sign")) && changes >= leastChange * length;
}

type Kind = "lower" | "upper" | "digit" | "sign";

function kindOf(character: string): Kind {
  if (character >= "a" && character <= "z") return "lower";
  if (character >= "A" && character <= "Z") return "upper";
  return character >= "0" && character <= "9" ? "digit" : "sign";
}
