export const redactionVersion = 4;

/** Whether a recipe names an earlier version of the rules: what it has made may hold secrets. */
export function isOfOlderRules(recipe: string): boolean {
  return Number(/ redaction(\d{1,9})/.exec(recipe)?.[1] ?? redactionVersion) < redactionVersion;
}
