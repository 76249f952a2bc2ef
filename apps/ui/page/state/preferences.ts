import { type Signal, effect, signal } from "@preact/signals";

export type Language = (typeof languages)[number];

export const themes = ["auto", "light", "dark"] as const;
export const languages = ["en", "zh"] as const;

/** Without browser storage: kept until the page is reloaded. */
export const unstored = new Map<string, string>();

/** A choice of the user, kept in this browser once it is made. */
export function choice<Name extends string>(name: string, names: readonly Name[], otherwise: Name): Signal<Name> {
  const chosen = signal(names.find((each) => each === kept(name)) ?? otherwise);
  const atFirst = chosen.value;
  effect(() => {
    if (chosen.value !== atFirst || kept(name) !== undefined) keep(name, chosen.value);
  });
  return chosen;
}

export const theme = choice("theme", themes, "auto");
export const language = choice("language", languages, /^zh\b/iu.test(navigator.language) ? "zh" : "en");

effect(() => {
  document.documentElement.dataset.theme = theme.value;
  document.documentElement.lang = language.value === "zh" ? "zh-CN" : "en";
});

/** Undefined if this browser has no storage, or no room for more. */
function inStorage<T>(use: (storage: Storage) => T): T | undefined {
  try {
    return use(localStorage);
  } catch {
    return undefined;
  }
}

/** Values of this page in the storage of its origin (host and port). */
export function kept(name: string): string | undefined {
  return unstored.get(name) ?? inStorage((storage) => storage.getItem(`memslot-${name}`)) ?? undefined;
}

/** A stored JSON value. Undefined if it is missing or malformed. */
export function keptJson(name: string): unknown {
  try {
    return JSON.parse(kept(name) ?? "");
  } catch {
    return undefined;
  }
}

export function keep(name: string, value: string): void {
  unstored.set(name, value);
  inStorage((storage) => {
    storage.setItem(`memslot-${name}`, value);
    unstored.delete(name);
  });
}

export function unkeep(name: string): void {
  unstored.delete(name);
  inStorage((storage) => storage.removeItem(`memslot-${name}`));
}

/** Names of stored values that begin with `start`. */
export function keptNames(start: string): string[] {
  const names = inStorage((storage) => Object.keys(storage)) ?? [];
  return names.filter((name) => name.startsWith(`memslot-${start}`)).map((name) => name.slice("memslot-".length));
}
