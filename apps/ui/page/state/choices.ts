import { effect, signal } from "@preact/signals";
import { keep, kept } from "./kept.ts";

export type Theme = (typeof themes)[number];
export type Language = (typeof languages)[number];

const themes = ["auto", "light", "dark"] as const;
const languages = ["en", "zh"] as const;

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
