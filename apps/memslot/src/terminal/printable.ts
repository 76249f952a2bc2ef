import { visibleMessage } from "@memslot/core";

/**
 * Makes invisible and control characters of a message visible, so that a file name cannot control the terminal.
 */
export const printable: (text: string) => string = visibleMessage;
