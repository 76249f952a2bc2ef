/** English sentences without their full stop, by code. `{name}` is a parameter. */
const sentences = {
  "check.none": "not checked",
  "files.skipped": "{count} {what} not searched: {list}",
  "files.changed": "files have changed since the last sync",
  "files.seen": "files have changed since they were looked at last",
  "files.unseen": "not all files were looked at yet",
  "files.pending": "{what} still being indexed",
  "files.held": "{what} and {who}",
  "files.late": "the latest changes may be missing",
  "index.none": "the index has not been built yet: run `memslot memory index`",
  "index.empty": "the notes are not indexed yet",
  "index.noNotes": "there is no memory file in {folder}",
  "index.damaged": "the index is damaged",
  "index.rebuilt": "the index was damaged and is being rebuilt from the notes",
  "index.outdated": "{count} places of the index do not match the files and are excluded; they are being indexed again",
  "index.noWords": "words are not searched: {error}",
  "sync.failed": "the last sync failed: {error}",
  "sync.impossible": "the index could not be brought up to date: {error}",
  "vectors.off": "keyword search only",
  "vectors.count": "{embedded} of {chunks} passages have a vector",
  "vectors.waiting": "{embedded} of {chunks} passages have a vector: {why}",
  "vectors.unasked": "{embedded} of {chunks} passages have a vector; the provider was not asked",
  "vectors.missing": "keywords answered for chunks without a vector: {why}",
  "provider.silent": "{provider} does not answer: {error}",
  "match.absent": "none of these results holds {words}",
  "match.unknown": "no note holds {words}",
  "match.others": "others than the one who is asked about say most of it",
  "match.meaning": "what is near in meaning holds little of the words that were asked for",
  "match.missing": "most of the words that were asked for stand in none of these results",
  "match.dispersed": "the words that were asked for stand in different notes",
  "match.apart": "the words that were asked for do not stand together in one place",
  "match.noTime": "no note is of that time",
  "match.nearTime": "no note is of that time; these are of days near it",
  "match.noDay": "there is no day {words}",
} as const;

export type SentenceCode = keyof typeof sentences;

/** What a sentence says, to show it in another language. */
export interface SentenceMeaning {
  /** Absent if the sentence is of a provider, a plugin or the system. */
  code?: SentenceCode | undefined;
  params?: Readonly<Record<string, string | number>> | undefined;
}

export interface Sentence extends SentenceMeaning {
  /** Without its full stop, for people and models. */
  reason: string;
}

/** Makes a sentence. */
export function sentence(code: SentenceCode, params: Sentence["params"] = {}): Sentence {
  const reason = sentences[code].replaceAll(/\{(\w+)\}/gu, (_, name: string) => String(params[name]));
  return { reason, code, ...(Object.keys(params).length > 0 && { params }) };
}
