import type { FoundTime } from "./found-time.ts";

/** What is counted with figures other than years, and what is numbered. */
const measures =
  /^\s*(?:km|kilomet|miles?|euros?|eur|usd|dollars?|bucks|pounds|kg|g|ml|mb|gb|tb|kb|px|mm|cm|m|points?|punkte|words?|worte|steps?|schritte|calories|kcal|times|people|personen|users?|tokens?|lines?|requests?|rows?|items?|files?|records?|entries|euro|元|块|米|人|个|次|字|步|行)(?![a-z\xb5-\u1fff])/;
const numbered =
  /(?<![0-9a-z\xb5-\u1fff])(?:versions?|ver|release|v|ip|port|room|zimmer|raum|salle|habitacion|error|fehler|code|page|seite|pagina|issue|pr|ticket|line|zeile|chapter|kapitel|build|model|modell|no|nr|number|nummer|numero|id|order|invoice|rechnung|bestellung|account|flight|flug|bus|route|section|version|rfc|iso|windows|office|gta|agenda|visual studio|server|tel|phone|telefon|call|fax|pin|isbn|step|item|row|figure|table|level|highway|size|resolution)[\s:.#]*$/;

/** Whether words that look like a time are probably something else: "version 10.01.2024", "may 5 users", "hier" in German. */
export function isDoubtful(time: FoundTime, folded: string, written: (time: FoundTime) => string): boolean {
  const words = folded.slice(time.start, time.end);
  const before = folded.slice(Math.max(0, time.start - 40), time.start);
  const after = folded.slice(time.end, time.end + 40);
  const [language] = time.languages;
  if (language === undefined) return numbered.test(before) || (/^\d{4}$/.test(words) && measures.test(after));
  return (doubts[language] ?? (() => false))({ time, words, before, after, text: folded, written: written(time) });
}

interface Doubted {
  time: FoundTime;
  words: string;
  before: string;
  after: string;
  text: string;
  written: string;
}

const served =
  /(?:^|\s)(?:on|since|until|till|by|of|from|to|before|after|between|in|the|at|around|late|early|mid)[\s-]+(?:the\s+)?$/;
const following =
  /^\s+(?!(?:on|in|at|of|with|by|to|for|from|and|or|about|when|i|we|a|an|is|was|last|this|the)(?![a-z\xb5-\u1fff]))(?=[a-z])/;
const plural = /^\s+(?:[a-z\xb5-\u1fff]+s|people|percent|km|min|more|times)(?![a-z\xb5-\u1fff])/;

const doubts: Readonly<Record<string, (doubted: Doubted) => boolean>> = {
  english: ({ time, words, before, after, written }) => {
    if (/^(?:last|past|previous|this|next) (?:days|weeks|months|quarters|years)$/.test(words)) return true;
    if (
      /(?<![a-z\xb5-\u1fff])spring$/.test(words) &&
      /^\s*[- ](?:boot|framework|security|data|mvc|cloud|cleaning|rolls?|onions?|mattress|batch|beans?|loaded|break)/.test(
        after,
      )
    )
      return true;
    if (/(?:^|\s)(?:march|fall)$/.test(words) && /^\s+of\s+(?!\d|last|this|next|the year)/.test(after)) return true;
    if (/(?:march|hare|may)$/.test(words) && /^\s+(?:hare|madness)/.test(after)) return true;
    if (
      /(?:^|\s)(?:black|good|man|girl|casual|cyber|every|each|any|ash|palm|holy|super|bloody|freaky|ruby)\s$/.test(
        before,
      ) &&
      time.weekday !== undefined
    )
      return true;
    if (time.weekday !== undefined && /^(?:\.com|'s\s+child|\s+(?:times|school))/.test(after)) return true;
    if (/(?:^|\s)(?:happy|merry)\s$/.test(before)) return true;
    const isSmall = !/(?<![a-z\xb5-\u1fff])(?:May|March|MAY|MARCH|Mar)(?![a-z\xb5-\u1fff])/.test(written);
    const month = /(?<![a-z\xb5-\u1fff])(?:may|march|mar)(?![a-z\xb5-\u1fff])/.exec(words)?.[0];
    if (month === undefined || /\d{4}$/.test(words))
      return /^(?:jan|dec|april|june|august|sep) \d/.test(words) && plural.test(after) && !served.test(before);
    // "The second may fail", "he is the first. March!"
    if (
      isSmall &&
      /^[a-z\xb5-\u1fff]+(?<!may|march|mar|last|this|next|past|previous|day)\s+(?:may|march|mar)$/.test(words)
    )
      return true;
    if (/^(?:may|march|mar)(?![a-z\xb5-\u1fff]).*\d/.test(words)) return plural.test(after) && !served.test(before);
    if (!isSmall || month !== "may") return false;
    if (words === "may" && !served.test(before)) return /^\s+[a-z\xb5-\u1fff]/.test(after);
    return !/^(?:last|past|previous|next)/.test(words) && following.test(after);
  },
  german: ({ words, before, written }) =>
    words === "morgen" &&
    (written !== "morgen" ||
      /(?<![a-z\xb5-\u1fff])(?:am|jeden|guten|diesen|diesem|den|gegen|der|einem|eines)\s$/.test(before)),
  dutch: ({ words, before, written }) =>
    words === "morgen" &&
    (written !== "morgen" ||
      /(?:^|\s)(?:goede|elke|iedere|de|in de|guten|am|jeden|den|heute|gestern|diesen)\s$/.test(before)),
  french: ({ words, text, before }) => {
    // In German it is "here", and "mi" in Spanish is "my".
    if (/(?:^|\s)hier$/.test(words) && words !== text.trim()) return !frenchWords.test(text) && germanWords.test(text);
    if (words === "mars") return /(?:^|\s)(?:le|la|les|planete)\s$/.test(before);
    return words === "ete" && !/(?:en|l'|cet|d'|de l'|a l')\s*$/.test(before);
  },
  spanish: ({ words, before }) =>
    words === "manana" && /(?<![a-z\xb5-\u1fff])(?:la|esta|cada|una|por|de|buena)\s$/.test(before),
};

const germanWords =
  /(?<![a-z\xb5-\u1fff])(?:ist|sind|das|der|die|den|dem|und|was|wir|ich|wo|wie|nicht|gibt|es|von|mit|war|ein|eine|steht|alles|man|wer|we|zijn|het|is|een|de|wat|ik|staat)(?![a-z\xb5-\u1fff])/;
const frenchWords =
  /(?<![a-z\xb5-\u1fff])(?:j'ai|j'|qu'|est-ce|que|quoi|nous|je|le|la|les|des|du|et|fait|c'|il|s'est|avons|mes|notes?|au|avec|pour|depuis|avant|apres|soir|matin|une?)(?![a-z\xb5-\u1fff])/;
