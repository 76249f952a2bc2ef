import type { VNode } from "preact";
import { status } from "../../state/events.ts";
import { t } from "../../words/words.ts";
import { type FilterName, filterIn, filterNames, withFilter } from "./query-text.ts";

/** Fields for the filters in the query. */
export function Filters({ query, onQuery }: { query: string; onQuery: (query: string) => void }): VNode {
  const set = (name: FilterName) => (event: { currentTarget: { value: string } }) =>
    onQuery(withFilter(query, name, event.currentTarget.value));
  const sources = status.value?.sources ?? [];
  return (
    <details open={filterNames.some((name) => filterIn(query, name) !== "")}>
      <summary>{t("search.filters")}</summary>
      <div class="filters">
        <label>
          {t("search.filter.path")}
          <input type="text" value={filterIn(query, "path")} onChange={set("path")} />
        </label>
        <label>
          {t("search.filter.tag")}
          <input type="text" value={filterIn(query, "tag")} onChange={set("tag")} />
        </label>
        <label>
          {t("search.filter.after")}
          <input type="date" value={filterIn(query, "after")} onChange={set("after")} />
        </label>
        <label>
          {t("search.filter.before")}
          <input type="date" value={filterIn(query, "before")} onChange={set("before")} />
        </label>
        <label>
          {t("search.filter.source")}
          <select value={filterIn(query, "source")} onChange={set("source")}>
            <option value="">{t("search.filter.source.any")}</option>
            {sources.map((source) => (
              <option key={source} value={source}>
                {source}
              </option>
            ))}
          </select>
        </label>
      </div>
    </details>
  );
}
