import { readFileSync } from "node:fs";
import path from "node:path";
import { createReferencePlugin } from "@memslot/testkit";
import type { Memory } from "memslot";
import { beforeAll, describe, expect, test } from "vitest";
import { ask, inSlot, useHouse } from "./temp-workspace.ts";

const group = "agent:main:telegram:group:-100";

/** Notes, and questions with other words than the notes have. */
const data = JSON.parse(readFileSync(path.join(import.meta.dirname, "../data/question-language.json"), "utf8")) as {
  /** A note in each language, and questions with other forms of its words: no word is in the note as it is asked for. */
  inflected: Record<string, { note: string; questions: string[] }>;
  others: Record<string, string>;
  /** A query whose first word has no match, the note that it finds, and the correction. */
  corrected: [query: string, path: string, as: string][];
  joined: [query: string, path: string, as: string][];
  unchanged: string[];
  private: Record<string, string>;
  groupQuestions: string[];
};

const notes: Record<string, string> = {
  ...Object.fromEntries(Object.entries(data.inflected).map(([code, { note }]) => [`memory/${code}.md`, `${note}\n`])),
  ...data.others,
};

export type QuestionBackend = "memory-core" | "memory-lancedb" | "reference";

async function openWith(backend: QuestionBackend, files: Record<string, string>): Promise<Memory> {
  const house = useHouse(files);
  const memory = await house.open({
    settings: inSlot(backend),
    memorySearch: { extraPaths: [house.at("team")], sync: { watch: false, onSearch: false } },
    plugins: backend === "reference" ? [createReferencePlugin()] : [],
  });
  await memory.sync();
  return memory;
}

/** Registers the checks of questions in other words on a backend: all, or some of each kind. */
export function describeQuestionLanguage(backend: QuestionBackend, checks: "all" | "chosen"): void {
  const some = <T>(all: readonly T[]): readonly T[] => (checks === "all" ? all : all.filter((_, at) => at % 4 === 1));

  describe(`questions in ${backend}`, () => {
    let memory: Memory;
    beforeAll(async () => {
      memory = await openWith(backend, notes);
    });

    test.each(some(Object.keys(data.inflected)))(
      "a question in %s finds a note that has other forms of its words",
      async (code) => {
        for (const question of data.inflected[code]?.questions ?? []) {
          const { paths, report } = await ask(memory, question);
          expect([question, paths[0], report.readings]).toEqual([question, `memory/${code}.md`, undefined]);
        }
      },
    );

    test.each(some(data.corrected))("%s, a term with no match, finds %s by its correction", async (query, file, as) => {
      const { paths, report } = await ask(memory, query);
      expect([paths[0], report.readings]).toEqual([file, [{ word: query.split(" ")[0], as }]]);
    });

    test.each(some(data.joined))("%s finds the one word that it is", async (query, file, as) => {
      const { paths, report } = await ask(memory, query);
      expect(paths[0]).toBe(file);
      expect(report.readings?.map((reading) => reading.as)).toContain(as);
    });

    test("a term with a match is never corrected, and what is near to nothing stays nothing", async () => {
      for (const query of data.unchanged)
        expect([query, (await ask(memory, query)).report.readings]).toEqual([query, undefined]);
      expect((await ask(memory, "zzyzx")).results).toEqual([]);
    });

    test("IT in capitals is the department, and a question of stop words finds its words", async () => {
      expect((await ask(memory, "IT budget")).paths[0]).toBe("memory/department.md");
      expect((await ask(memory, "IT")).paths).toEqual(["memory/department.md"]);
      expect((await ask(memory, "to be or not to be")).paths[0]).toBe("memory/hamlet.md");
      expect((await ask(memory, "The Who")).paths.slice(0, 2)).toContain("memory/band.md");
    });

    test("a group learns nothing of a word that is in private notes alone, however it is asked for", async () => {
      const shared = { "team/plan.md": "The plan of the team: deploy on Friday.\n" };
      const answersOf = async (of: Memory): Promise<unknown[]> => {
        const answers: unknown[] = [];
        for (const query of data.groupQuestions) {
          const { results, report } = await ask(of, query, { sessionKey: group });
          answers.push({ query, results, report: { ...report, timingsMs: undefined } });
        }
        return answers;
      };
      const without = await openWith(backend, shared);
      const withAll = await openWith(backend, { ...shared, ...data.private });
      expect(await answersOf(withAll)).toEqual(await answersOf(without));
      const readingsOf = async (of: Memory, query: string, sessionKey?: string): Promise<unknown> =>
        (await ask(of, query, { sessionKey })).report.readings;
      expect(await readingsOf(without, "deplyo", group)).toEqual([{ word: "deplyo", as: "deploy" }]);
      expect(await readingsOf(withAll, "zanzibr")).toEqual([{ word: "zanzibr", as: "Zanzibar" }]);
    });
  });
}
