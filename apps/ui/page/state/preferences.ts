import { effect, signal } from "@preact/signals";

export type Theme = (typeof themes)[number];
export type Language = (typeof languages)[number];

export const themes = ["auto", "light", "dark"] as const;
export const languages = ["en", "zh"] as const;

/** Without browser storage: kept until the page is reloaded. */
const unstored = new Map<string, string>();

export const theme = signal<Theme>(themes.find((name) => name === kept("theme")) ?? "auto");
export const language = signal<Language>(
  languages.find((name) => name === kept("language")) ?? (/^zh\b/iu.test(navigator.language) ? "zh" : "en"),
);

effect(() => {
  document.documentElement.dataset.theme = theme.value;
  keep("theme", theme.value);
});
effect(() => {
  document.documentElement.lang = language.value === "zh" ? "zh-CN" : "en";
  keep("language", language.value);
});

/** Values of this page in the storage of its origin (host and port). */
export function kept(name: string): string | undefined {
  try {
    return localStorage.getItem(`memslot-${name}`) ?? undefined;
  } catch {
    return unstored.get(name);
  }
}

/** False: the value is lost when the page is closed. */
export function keep(name: string, value: string): boolean {
  try {
    localStorage.setItem(`memslot-${name}`, value);
    return true;
  } catch {
    unstored.set(name, value);
    return false;
  }
}

export function unkeep(name: string): void {
  unstored.delete(name);
  try {
    localStorage.removeItem(`memslot-${name}`);
  } catch {
    // There was none.
  }
}

/** Names of stored values that begin with `start`. */
export function keptNames(start: string): string[] {
  try {
    const names = Object.keys(localStorage).filter((name) => name.startsWith(`memslot-${start}`));
    return names.map((name) => name.slice("memslot-".length));
  } catch {
    return [];
  }
}
