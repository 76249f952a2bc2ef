import type { LanguageCode } from "../../text/languages/languages.ts";

/** Places whose languages are kept, and the longest text that names some: a scope may list thousands of paths. */
const keptPlaces = 20;
const longestKey = 10_000;

/** The languages that notes are in, counted once for each state of an index. */
export class LanguageMemory {
  readonly #known = new Map<string, { revision: string; held: readonly LanguageCode[] }>();

  /**
   * What `count` gives for some places, or gave at this revision of the index. `revision` undefined: the index does not tell, and
   * they are counted each time. So they are where `isWhole` says that words were missing when they were counted.
   */
  async of(
    places: unknown,
    revision: string | undefined,
    count: () => Promise<readonly LanguageCode[]>,
    isWhole: () => boolean,
  ): Promise<readonly LanguageCode[]> {
    if (revision === undefined) return await count();
    const key = JSON.stringify(places);
    const known = this.#known.get(key);
    if (known?.revision === revision) return known.held;
    const held = await count();
    if (key.length > longestKey || !isWhole()) return held;
    this.#known.delete(key);
    this.#known.set(key, { revision, held });
    for (const old of this.#known.keys()) if (this.#known.size > keptPlaces) this.#known.delete(old);
    return held;
  }
}
