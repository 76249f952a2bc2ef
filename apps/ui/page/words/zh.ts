import type { en } from "./en.ts";
import { health } from "./zh/health.ts";
import { map } from "./zh/map.ts";
import { notes } from "./zh/notes.ts";
import { search } from "./zh/search.ts";
import { sessions } from "./zh/sessions.ts";
import { shell } from "./zh/shell.ts";
import { time } from "./zh/time.ts";

export const zh: Record<keyof typeof en, string> = {
  ...shell,
  ...search,
  ...notes,
  ...map,
  ...sessions,
  ...health,
  ...time,
};
