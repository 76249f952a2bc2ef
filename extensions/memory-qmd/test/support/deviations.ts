import type { Deviation } from "@memslot/testkit";

/** What qmd does otherwise, as the README says. */
export const deviations: readonly Deviation[] = [
  {
    test: "search: as many results as are asked for, when so many match",
    reason: "qmd looks at 20 files for each word of a question",
  },
];
