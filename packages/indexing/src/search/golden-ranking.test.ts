import { expect, test } from "vitest";
import { searchOptions, settingsWith } from "../../test/support/context.ts";
import { chunkMarkdown } from "../text/chunk-markdown.ts";
import { splitLines } from "../text/file-text.ts";
import { indexTerms } from "../text/words.ts";
import { outcomeOf } from "./search-outcome.ts";
import { type FoundChunk, matchTexts } from "./search-texts.ts";

/** A few notes as people write them. */
const notes: Readonly<Record<string, string>> = {
  "MEMORY.md":
    "# Memory\n\n- The staging database listens on port 5544.\n- Anna is allergic to hazelnuts.\n- 妈妈的生日是五月六号。\n",
  "memory/2026-03-02.md":
    "# Monday\n\nTalked to Anna about the database move. Nothing decided.\n\nThe heating showed F.022 again, so the water was topped up.\n",
  "memory/2026-03-05.md":
    "# Thursday\n\nMoved the staging database. The new port is in the wiki.\n\nAnna brought cake.\n",
  "memory/2026-03-09.md":
    "# Monday\n\nA long day: " +
    "meeting after meeting about budgets and plans, ".repeat(12) +
    "and at the end the database port came up.\n",
  "memory/heating.md":
    "# Heating\n\nF.022: water pressure too low, top up at the blue valve.\n\nF.514: sensor at the inlet.\n\nMaintenance in October.\n",
  "memory/ports.md":
    "# Ports\n\nPort of Hamburg, port of Rotterdam, port wine, port.\n\nA database of ports is kept by the harbour.\n",
  "memory/allergies.md": "# Allergies\n\nHazelnuts: Anna.\n\nCats: Ben, and a little the neighbour.\n",
  "memory/地址.md": "# 搬家\n\n新地址是幸福路12号，押金三千元。\n",
};

const questions = [
  "staging database port",
  "port of the staging database",
  "anna hazelnuts",
  "what is Anna allergic to",
  "F.022",
  "heating water pressure",
  "what happened on 5 March",
  "database on 2026-03-02",
  "妈妈生日",
  "新地址押金",
  "port",
  "maintenance october blue valve",
];

const chunks = Object.entries(notes).flatMap(([path, text]) =>
  [...chunkMarkdown(splitLines(text), { tokens: 60, overlap: 10 })].map((chunk): FoundChunk => {
    return { ...chunk, path, source: "memory", terms: indexTerms(`${chunk.text}\n${chunk.context}`) };
  }),
);

/** By words, and with a leg by meaning that likes what was written last. */
async function answerTo(query: string, byMeaning: boolean): Promise<string> {
  const keyword = await matchTexts({ chunks, query, chunkCount: chunks.length, limit: 100 });
  const rows = keyword.answer.rows.map((row, index) => ({ ...row, score: 0.4 + 0.05 * index }));
  const { results, report } = outcomeOf(
    {
      settings: settingsWith(),
      backend: "golden",
      query,
      options: searchOptions(),
      scope: () => undefined,
      now: new Date(2026, 2, 12),
    },
    [{ source: "memory", scope: undefined }],
    { keyword, vector: byMeaning ? { rows } : undefined, degraded: undefined, legsMs: 0 },
  );
  const lines = results.map(
    ({ score, path, startLine, endLine }) => `  ${score.toFixed(4)} ${path}#L${startLine}-L${endLine}`,
  );
  return [`${query}${byMeaning ? " (and by meaning)" : ""}: ${report.confidence?.toFixed(3)}`, ...lines].join("\n");
}

/** Whoever changes a weight sees here what it moves. Write it anew with `vitest run -u` once that is what you want. */
test("the ranking is what it was", async () => {
  const asked = questions.flatMap((query) => [answerTo(query, false), answerTo(query, true)]);
  const answers = await Promise.all(asked);
  await expect(`${answers.join("\n\n")}\n`).toMatchFileSnapshot("test/golden-ranking.txt");
});
