import { effect, signal } from "@preact/signals";
import type { Language } from "../words/words.ts";

export type Theme = "auto" | "light" | "dark";

export const theme = signal<Theme>(kept("theme", ["auto", "light", "dark"]) ?? "auto");
export const language = signal<Language>(
  kept("language", ["en", "zh"]) ?? (/^zh\b/iu.test(navigator.language) ? "zh" : "en"),
);

effect(() => {
  document.documentElement.dataset.theme = theme.value;
  keep("theme", theme.value);
});
effect(() => {
  document.documentElement.lang = language.value === "zh" ? "zh-CN" : "en";
  keep("language", language.value);
});

function kept<T extends string>(name: string, values: readonly T[]): T | undefined {
  try {
    return values.find((value) => value === localStorage.getItem(`memslot-${name}`));
  } catch {
    return undefined; // A browser that keeps nothing.
  }
}

function keep(name: string, value: string): void {
  try {
    localStorage.setItem(`memslot-${name}`, value);
  } catch {
    // It is asked again the next time.
  }
}
