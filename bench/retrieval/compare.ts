import { type Asked, isAnswerable, judge, mean } from "./judge.ts";
import { openOthers } from "./other-engines.ts";
import { printTable } from "../support/table.ts";
import type { Vault } from "./vault.ts";

/**
 * Asks other engines what memslot was asked, and prints the right note first and in six of every engine by kind of
 * question. Questions that need to know the day are not among them.
 */
export async function compareWithOthers(title: string, { notes }: Vault, memslot: readonly Asked[]): Promise<void> {
  const own = memslot.filter((asked) => isAnswerable(asked) && asked.question.now === undefined);
  const engines = [{ name: "memslot", asked: own }];
  for (const engine of await openOthers(notes)) {
    const asked: Asked[] = [];
    for (const { question } of own) {
      const found = await engine.search(question.query, 6);
      const results = found.map((path) => ({ path, startLine: 1, endLine: 1, snippet: "" }));
      asked.push(judge(question, results, { confidence: 0, level: "none" }));
    }
    await engine.close();
    engines.push({ name: engine.name, asked });
  }
  const kinds = [...new Set(own.map(({ question }) => question.kind))];
  printTable(
    `${title}, both halves: right note first / in six`,
    ["", "questions", ...engines.map(({ name }) => name), "ahead of memslot"],
    [["all", ...rowOf(engines)], ...kinds.map((kind) => [kind, ...rowOf(engines, kind)])],
  );
}

/** The figures of each engine, of all questions or of one kind, and the engines that find more than the first one. */
function rowOf(engines: readonly { name: string; asked: readonly Asked[] }[], kind?: string): string[] {
  const figures = engines.map(({ name, asked }) => {
    const some = asked.filter(({ question }) => kind === undefined || question.kind === kind);
    const share = (measure: "first" | "inSix"): number => mean(some.map((one) => (one[measure] ? 1 : 0)));
    return { name, count: some.length, first: share("first"), inSix: share("inSix") };
  });
  const ahead = figures.flatMap(({ name, first, inSix }) => {
    const more = [
      ...(first > (figures[0]?.first ?? 1) ? ["first"] : []),
      ...(inSix > (figures[0]?.inSix ?? 1) ? ["in six"] : []),
    ];
    return more.length === 0 ? [] : [`${name} (${more.join(", ")})`];
  });
  const cells = figures.map(({ first, inSix }) => `${first.toFixed(3)} / ${inSix.toFixed(3)}`);
  return [String(figures[0]?.count), ...cells, ahead.join(", ")];
}
