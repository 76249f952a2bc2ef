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

export function keep(name: string, value: string): void {
  try {
    localStorage.setItem(`memslot-${name}`, value);
  } catch {
    unstored.set(name, value);
  }
}
