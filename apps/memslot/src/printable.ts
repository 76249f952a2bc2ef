/**
 * Text for a terminal: control characters other than tab and line break are shown as `�`. Notes may hold anything,
 * and an escape sequence in one must not move the reader's cursor or rename the window.
 */
export function printable(text: string): string {
  // oxlint-disable-next-line no-control-regex -- control characters are what is looked for
  return text.replaceAll("\r\n", "\n").replaceAll(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/gu, "\uFFFD");
}
