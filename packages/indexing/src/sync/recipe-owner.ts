import type { SpaceFacts } from "../chunk-index.ts";

/** What to do with files that were indexed by another recipe. */
export type OtherRecipe = "reread" | "keep" | "rebuild";

/** Recipes that are remembered, and for how long the last one keeps an index to itself. */
const most = 5;
const ownedMs = 24 * 60 * 60_000;
const noteName = "recipes";

/**
 * Two versions of memslot, or two configurations, can share one index, each with a recipe of its own. Without an owner each
 * would rebuild it after every edit of the other.
 */
export interface RecipeOwner {
  /**
   * For a process of this recipe that meets files of another one. `keep`: the other recipe has replaced this one within the
   * last day, so its files answer as they are. `reread`: the index belongs to this recipe, and only those files are read again.
   */
  decide(): Promise<OtherRecipe>;
  /** The index was rebuilt for this recipe. */
  rebuilt(): Promise<void>;
}

export function createRecipeOwner(
  facts: Pick<SpaceFacts, "note" | "noted"> | undefined,
  recipe: string,
  onKept: () => void,
): RecipeOwner {
  const list = async (): Promise<[recipe: string, at: number][]> => {
    try {
      return JSON.parse((await facts?.noted(noteName)) ?? "[]") as [string, number][];
    } catch {
      return [];
    }
  };
  return {
    async decide() {
      const [last, ...before] = await list();
      if (last?.[0] === recipe) return "reread";
      if (last === undefined || Date.now() - last[1] > ownedMs || !before.some(([each]) => each === recipe))
        return "rebuild";
      onKept();
      return "keep";
    },
    async rebuilt() {
      const others = (await list()).filter(([each]) => each !== recipe);
      await facts?.note(noteName, JSON.stringify([[recipe, Date.now()], ...others].slice(0, most)));
    },
  };
}
