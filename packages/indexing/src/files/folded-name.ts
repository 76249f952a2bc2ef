/** A name as file systems compare it that leave case and the way accents are written out of account. */
export function foldedName(name: string): string {
  return name.normalize("NFC").toLowerCase();
}
