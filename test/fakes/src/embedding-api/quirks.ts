import type { ApiFault } from "./faults.ts";
import table from "./quirks.json" with { type: "json" };

/** How a server answers that differs from OpenAI, as seen in the wild, and what is to come of it. */
export interface Quirk {
  name: string;
  /** For ever, if `times` is left out. */
  faults: ApiFault[];
  /** Texts without a vector, with all others embedded: of eight notes, one has the word "poisonword", one 1400 characters. */
  missing?: number;
  /** A regular expression for the reason, where no text can be embedded. */
  refused?: string;
}

export const quirks: readonly Quirk[] = table as Quirk[];
