/** Of a browser that has no storage: kept until the page is loaded again. */
const unstored = new Map<string, string>();

/** What this browser keeps for the page, in the storage of its origin: host and port. */
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
