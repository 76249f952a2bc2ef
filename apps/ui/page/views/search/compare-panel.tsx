import type { VNode } from "preact";
import { useState } from "preact/hooks";
import type { CompareAnswer, SideSettings, FoundResult, SearchAnswer } from "../../../src/api-types.ts";
import { AskError, ask, told } from "../../state/api-client.ts";
import { Failed } from "../../components/common-components.tsx";
import { t } from "../../words/translate.ts";
import { firstMatch } from "./result-card.tsx";

type Field = Exclude<keyof SideSettings, "backend">;
const fields: readonly (readonly [
  Field,
  "compare.weight" | "compare.min" | "compare.tokens" | "compare.max",
  { min: number; max: number; step: number },
])[] = [
  ["vectorWeight", "compare.weight", { min: 0, max: 1, step: 0.05 }],
  ["minScore", "compare.min", { min: 0, max: 1, step: 0.05 }],
  ["maxTokens", "compare.tokens", { min: 100, max: 4000, step: 100 }],
  ["maxResults", "compare.max", { min: 1, max: 200, step: 1 }],
];
const backends = ["memory-core", "memory-lancedb", "memory-qmd"];

/** The same query with two settings, and the changes of rank. */
export function ComparePanel({ asked }: { asked: string }): VNode {
  const [a, setA] = useState<SideSettings>({});
  const [b, setB] = useState<SideSettings>({ maxTokens: 2000 });
  const [answer, setAnswer] = useState<CompareAnswer | undefined>(undefined);
  const [error, setError] = useState<AskError | undefined>(undefined);
  const run = async (): Promise<void> => {
    try {
      setAnswer(await ask<CompareAnswer>("/api/search/compare", { body: { q: asked, a, b } }));
      setError(undefined);
    } catch (reason) {
      told(reason);
      if (reason instanceof AskError) setError(reason);
    }
  };
  return (
    <section>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          void run();
        }}
      >
        <div class="sides">
          <Side name="A" settings={a} onChange={setA} />
          <Side name="B" settings={b} onChange={setB} />
        </div>
        <button type="submit" class="main" disabled={asked === ""}>
          {t("compare.run")}
        </button>
      </form>
      <div aria-live="polite">
        {error && <Failed error={error} />}
        {answer && <Compared answer={answer} />}
      </div>
    </section>
  );
}

function Side({
  name,
  settings,
  onChange,
}: {
  name: string;
  settings: SideSettings;
  onChange: (settings: SideSettings) => void;
}): VNode {
  return (
    <fieldset class="card">
      <legend>{t("compare.side", { name })}</legend>
      {fields.map(([field, label, range]) => (
        <label key={field}>
          {t(label)}
          <input
            type="number"
            {...range}
            placeholder={t("compare.asSet")}
            value={settings[field] ?? ""}
            onInput={({ currentTarget: { value } }) =>
              onChange({ ...settings, [field]: value === "" ? undefined : Number(value) })
            }
          />
        </label>
      ))}
      <label>
        {t("compare.backend")}
        <select
          value={settings.backend ?? ""}
          onChange={({ currentTarget: { value } }) => onChange({ ...settings, backend: value || undefined })}
        >
          <option value="">{t("compare.asSet")}</option>
          {backends.map((id) => (
            <option key={id}>{id}</option>
          ))}
        </select>
      </label>
    </fieldset>
  );
}

function Compared({ answer: { a, b } }: { answer: CompareAnswer }): VNode {
  if ("error" in a || "error" in b)
    return (
      <div class="failed" role="alert">
        {"error" in a && <p>A: {a.error}</p>}
        {"error" in b && <p>B: {b.error}</p>}
      </div>
    );
  const rows = rowsOf(a, b);
  const same = rows.filter(({ from, to }) => from !== undefined && to !== undefined && from <= 10 && to <= 10).length;
  return (
    <>
      <p>
        A {a.results.length} · B {b.results.length} · {t("compare.overlap", { count: same })}
      </p>
      <div class="scroll">
        <table>
          <thead>
            <tr>
              <th>A</th>
              <th>B</th>
              <th>{t("compare.place")}</th>
              <th>{t("compare.note")}</th>
            </tr>
          </thead>
          <tbody>
            {rows.map(({ key, from, to, result }) => (
              <tr key={key}>
                <td>{from ?? "–"}</td>
                <td>{to ?? "–"}</td>
                <td>{moved(from, to)}</td>
                <td>
                  {result.path}:{firstMatch(result)}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </>
  );
}

function moved(from: number | undefined, to: number | undefined): string {
  if (from === undefined) return `✚ ${t("compare.new")}`;
  if (to === undefined) return `✕ ${t("compare.gone")}`;
  if (to < from) return `▲ ${t("compare.up", { count: from - to })}`;
  if (to > from) return `▼ ${t("compare.down", { count: to - from })}`;
  return `= ${t("compare.same")}`;
}

/** One note, with its rank on each side. */
interface RankChange {
  key: string;
  from: number | undefined;
  to: number | undefined;
  result: FoundResult;
}

/** Every note of both sides, in the order of B, then those only in A. */
function rowsOf(a: SearchAnswer, b: SearchAnswer): RankChange[] {
  const keyOf = ({ source, path }: FoundResult): string => `${source} ${path}`;
  const place = (results: readonly FoundResult[], key: string): number | undefined => {
    const index = results.findIndex((result) => keyOf(result) === key);
    return index < 0 ? undefined : index + 1;
  };
  const all = new Map([...b.results, ...a.results].toReversed().map((result) => [keyOf(result), result]));
  return [...all]
    .toReversed()
    .map(([key, result]) => ({ key, result, from: place(a.results, key), to: place(b.results, key) }));
}
