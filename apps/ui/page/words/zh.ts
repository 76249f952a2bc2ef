import type { en } from "./en.ts";
import { search } from "./zh/search.ts";
import { shell } from "./zh/shell.ts";

export const zh: Record<keyof typeof en, string> = { ...shell, ...search };
