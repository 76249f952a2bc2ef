/** What `memslot connect` puts into one file, and how it is taken out again. Both take and give the whole text. */
export interface TextEdit {
  /** Puts it there; the same text where it is there already. Throws `UnusableFile`. An absent file is an empty text. */
  put(text: string): string;
  /** Takes it out, and nothing else; the same text where it is not there. Throws `UnusableFile`. */
  remove(text: string): string;
  /** Whether what was left by `remove` says nothing, so that a file that was made for it can go. */
  isEmpty(text: string): boolean;
}
