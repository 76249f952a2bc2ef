import { visibleMessage } from "@memslot/core";

/** Makes invisible and control characters visible, so that a name cannot control the terminal. */
export const printable: (text: string) => string = visibleMessage;
