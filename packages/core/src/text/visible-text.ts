import { lazily } from "../async-helpers.ts";

/** Invisible characters by Unicode class, except where a script or emoji needs them. */
const unseen = String.raw`[[\p{Cc}\p{Zl}\p{Zp}\p{Cs}\p{Default_Ignorable_Code_Point}\p{Noncharacter_Code_Point}\uFFF9-\uFFFB\u2800]--[\t\n]]`;

/** Scripts in which a sign between two letters, or behind one, changes how they join. */
const joining = String.raw`[[\p{L}\p{M}]--[\p{sc=Latn}\p{sc=Grek}\p{sc=Cyrl}\p{sc=Hani}\p{sc=Hira}\p{sc=Kana}\p{sc=Hang}\p{sc=Zyyy}\p{sc=Zinh}]]`;
const unspaced = String.raw`[\p{scx=Thai}\p{scx=Laoo}\p{scx=Khmr}\p{scx=Mymr}\p{scx=Tibt}\p{scx=Lana}\p{scx=Talu}\p{scx=Tale}\p{scx=Tavt}\p{scx=Java}\p{scx=Bali}]`;
const picture = String.raw`\p{Extended_Pictographic}`;

const needed = [
  // The flag of a region: a black flag, its name in tags, and their end.
  String.raw`(?<=\u{1F3F4})[\u{E0030}-\u{E0039}\u{E0061}-\u{E007A}]{3,6}\u{E007F}`,
  // One picture of several.
  String.raw`(?<=[${picture}\p{Emoji_Modifier}])\uFE0F?\u200D(?=${picture})`,
  // The look of a picture, of a key cap, of an ideograph, of a sign of mathematics.
  String.raw`(?<=${picture})[\uFE0E\uFE0F]|(?<=[0-9#*])\uFE0F(?=\u20E3)|(?<=\p{Ideographic})\p{Variation_Selector}|(?<=[\p{Sm}\p{scx=Mymr}])\uFE00`,
  String.raw`(?<=[${joining}[\p{scx=Arab}&&\p{M}]])\p{Join_Control}`,
  String.raw`(?<=${unspaced})\u200B`,
  String.raw`(?<=[\p{scx=Mong}--\p{Default_Ignorable_Code_Point}])[\u180B-\u180F]`,
  // Old Hangul: a filler stands for the first or the second part of a syllable.
  String.raw`\u115F(?=[\u1161-\u11A7\uD7B0-\uD7C6])|(?<=[\u1100-\u115E\uA960-\uA97C])\u1160`,
  String.raw`(?<=\p{M})\u034F(?=\p{M})`,
  String.raw`(?<=[\u2801-\u28FF])\u2800|\u2800(?=[\u2801-\u28FF])`,
].join("|");

/** Signs of direction that turn nothing around. They are needed beside letters that run from right to left. */
const directionMark = String.raw`[\u200E\u200F\u061C]`;
const rightToLeft = /[\u0590-\u08FF\uFB1D-\uFDFF\uFE70-\uFEFC\u{10800}-\u{10FFF}\u{1E800}-\u{1EFFF}]/u;

// Its large sets take a fifth of what Node takes to start, so it is made for the first text that may need it.
const found = lazily(
  () =>
    new RegExp(`(?<needed>(?:${needed})(?!${unseen}))|(?<mark>${directionMark})(?!${unseen})|(?<run>${unseen}+)`, "gv"),
);

/** What is not plainly seen: everything but ASCII, most Latin letters, and Chinese with its punctuation. */
const perhapsUnseen = /[^\t\n\x20-\x7E\u00A1-\u00AC\u00AE-\u02FF\u2010-\u2026\u3001-\u3029\u4E00-\u9FFF\uFF01-\uFF5E]/;

/** Text for display: each run of invisible characters becomes one `�`. Tabs and line ends stay. */
export function visibleText(text: string): string {
  return withoutUnseen(text.replaceAll("\r\n", "\n"), () => "\uFFFD");
}

/** Message for display: invisible characters are escaped, as `\u{202E}`. Tabs and line ends stay. */
export function visibleMessage(text: string): string {
  return withoutUnseen(text.replaceAll("\r\n", "\n"), spelled);
}

/** A name or a path on one line, from which `nameFromVisible` makes the name again. */
export function visibleName(name: string): string {
  return withoutUnseen(name.replaceAll(String.raw`\u{`, String.raw`\u{5C}u{`), spelled).replaceAll(/[\t\n]/g, spelled);
}

/** JSON that means the same and holds no unseen character: all are written as JSON writes them, `\\u202e`. */
export function visibleJson(json: string): string {
  return withoutUnseen(json, (run) => {
    const units = Array.from({ length: run.length }, (_, index) => run.charCodeAt(index));
    return units.map((unit) => `\\u${unit.toString(16).padStart(4, "0")}`).join("");
  });
}

export function nameFromVisible(text: string): string {
  return text.replaceAll(/\\u\{([0-9a-f]{1,6})\}/gi, (written, digits: string) => {
    const code = Number.parseInt(digits, 16);
    return code <= 0x10ffff ? String.fromCodePoint(code) : written;
  });
}

/** Describes the first invisible character of a text; undefined if there is none. */
export function unseenCharacter(text: string): string | undefined {
  let first: string | undefined;
  withoutUnseen(text, (run) => {
    first ??= run;
    return run;
  });
  if (first === undefined) return undefined;
  const code = first.codePointAt(0) ?? 0;
  if (code >= 0xd800 && code <= 0xdfff) return "half of a character (a lone surrogate)";
  return `${kindOf(String.fromCodePoint(code))} U+${code.toString(16).toUpperCase().padStart(4, "0")}`;
}

function kindOf(character: string): string {
  if (/\p{Cc}/u.test(character)) return "the control character";
  if (/[\p{Zl}\p{Zp}]/u.test(character)) return "the line separator";
  if (/\p{Bidi_Control}/u.test(character)) return "the sign of direction";
  if (/\p{Variation_Selector}/u.test(character)) return "the variation selector";
  if (/[\u{E0000}-\u{E007F}]/u.test(character)) return "the tag character";
  return "the invisible character";
}

function withoutUnseen(text: string, put: (run: string) => string): string {
  if (!perhapsUnseen.test(text)) return text;
  let line = { end: -1, isRightToLeft: false };
  const isMeant = (at: number): boolean => {
    if (at >= line.end) {
      const end = text.indexOf("\n", at);
      const whole = text.slice(text.lastIndexOf("\n", at) + 1, end < 0 ? undefined : end);
      line = { end: end < 0 ? text.length : end, isRightToLeft: rightToLeft.test(whole) };
    }
    return line.isRightToLeft;
  };
  return text.replaceAll(found(), (run: string, ...more: unknown[]) => {
    const groups = more.at(-1) as { needed?: string; mark?: string };
    const isLeft = groups.needed !== undefined || (groups.mark !== undefined && isMeant(Number(more.at(-3))));
    return isLeft ? run : put(run);
  });
}

function spelled(run: string): string {
  return Array.from(run, (character) => `\\u{${(character.codePointAt(0) ?? 0).toString(16).toUpperCase()}}`).join("");
}
