/** Without browser storage: kept until the page is reloaded. */
const unstored = new Map<string, string>();

/** Values of this page in the storage of its origin (host and port). */
export function kept(name: string): string | undefined {
  try {
    return localStorage.getItem(`memslot-${name}`) ?? undefined;
  } catch {
    return unstored.get(name);
  }
}

export function keep(name: string, value: string): void {
  try {
    localStorage.setItem(`memslot-${name}`, value);
  } catch {
    unstored.set(name, value);
  }
}
