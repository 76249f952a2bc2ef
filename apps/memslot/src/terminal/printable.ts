import { visibleMessage } from "@memslot/core";

/**
 * A message for people, with what it names: characters that nobody sees, and those that a terminal obeys, are spelled.
 * A name from a note's folder must not move the reader's cursor or rename the window, and is not lost by it either.
 */
export const printable: (text: string) => string = visibleMessage;
