import families from "./irregular-forms.json" with { type: "json" };

/** Irregular forms and the base they are indexed under. A stemmer cannot know these. */
export const irregularForms: ReadonlyMap<string, string> = new Map(
  Object.entries(families).flatMap(([base, forms]) => forms.split(" ").map((form) => [form, base] as const)),
);
