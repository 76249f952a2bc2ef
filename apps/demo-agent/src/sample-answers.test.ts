import { readFile } from "node:fs/promises";
import { expect, test } from "vitest";
import { openNotes } from "./open-notes.ts";
import { respond } from "./answers/responder.ts";
import { createSampleWorkspace } from "./sample-workspace.ts";

interface SampleQuestion {
  question: string;
  kind: "keyword" | "paraphrase" | "absent";
  path?: string;
  line?: number;
  answer?: string;
}

const never = new AbortController().signal;

test("the responder answers nine of ten keyword questions from the right line, and never claims what the notes do not hold", async () => {
  const questions: SampleQuestion[] = JSON.parse(
    await readFile(new URL("../sample-workspace.questions.json", import.meta.url), "utf8"),
  );
  const sample = await createSampleWorkspace();
  try {
    const notes = await openNotes({
      sample,
      workspaceDir: undefined,
      backend: undefined,
      env: {},
      cwd: sample.rootDir,
      notify: () => undefined,
      signal: never,
    });
    try {
      await notes.memory?.sync();
      const wrong: string[] = [];
      const claimed: string[] = [];
      for (const { question, kind, path, line, answer } of questions) {
        const text = await respond(question, { memory: notes.memory, signal: never });
        const [, citedPath, from, to] = /^ {2}(.+)#L(\d+)-L(\d+)$/m.exec(text) ?? [];
        const right = citedPath === path && Number(from) <= Number(line) && Number(to) >= Number(line);
        if (kind === "keyword" && !(right && text.includes(answer ?? ""))) wrong.push(question);
        if (kind === "absent" && /^(From the notes|笔记里写着)/.test(text)) claimed.push(question);
      }
      const keyword = questions.filter(({ kind }) => kind === "keyword").length;
      expect(keyword).toBeGreaterThanOrEqual(20);
      // The list stands in the message when there are too many.
      expect(wrong.slice(Math.floor(keyword / 10))).toEqual([]);
      expect(claimed).toEqual([]);
    } finally {
      await notes.memory?.close();
    }
  } finally {
    await sample.remove();
  }
});
