import type { VNode } from "preact";
import { goWith } from "../../state/place.ts";
import { t } from "../../words/words.ts";
import { filterIn, type FilterName, withFilter } from "./query-filters.ts";

/** Controls that write the query language into the field, and read it from there. */
export function FilterBar({ q, sources }: { q: string; sources: readonly string[] }): VNode {
  const set = (name: FilterName, value: string): void => goWith({ q: withFilter(q, name, value) });
  const source = filterIn(q, "source");
  const known = source === "" || sources.includes(source) ? sources : [...sources, source];
  return (
    <fieldset class="row filters">
      <legend>{t("search.filters")}</legend>
      <label>
        {t("search.source")}
        <select value={source} onChange={(event) => set("source", event.currentTarget.value)}>
          <option value="">{t("search.any")}</option>
          {known.map((name) => (
            <option key={name} value={name}>
              {name}
            </option>
          ))}
        </select>
      </label>
      {(["path", "tag", "after", "before"] as const).map((name) => (
        <label key={name}>
          {t(`search.${name}`)}
          <input
            size={10}
            placeholder={name === "after" || name === "before" ? "2026-03-05" : undefined}
            value={filterIn(q, name)}
            onChange={(event) => set(name, event.currentTarget.value)}
          />
        </label>
      ))}
    </fieldset>
  );
}
