import { health } from "./en/health.ts";
import { map } from "./en/map.ts";
import { notes } from "./en/notes.ts";
import { search } from "./en/search.ts";
import { sessions } from "./en/sessions.ts";
import { shell } from "./en/shell.ts";
import { time } from "./en/time.ts";

/** Each view has its texts in a file of its own. */
export const en = { ...shell, ...search, ...notes, ...map, ...sessions, ...health, ...time };
