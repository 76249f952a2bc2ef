import { search } from "./en/search.ts";
import { shell } from "./en/shell.ts";

/** Each view has its texts in a file of its own. */
export const en = { ...shell, ...search };
