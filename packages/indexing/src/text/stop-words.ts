/**
 * Words that carry no search meaning. The list is short on purpose: words such as "own", "after", "before", "both" and
 * "all" look empty and are not, and leaving them out made answers measurably worse.
 */
export const stopWords: ReadonlySet<string> = new Set(
  (
    "a an and any are as at be been but by can could did do does for from had has have he her hers him his how i if in into is it its " +
    "me my of on or our she so that the their them there they this to us was we were what when where which who whom whose why will with would you your"
  ).split(" "),
);
