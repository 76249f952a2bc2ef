import { describe, expect, test } from "vitest";
import { memoryLab, qmdStatus } from "../test/memory-lab.ts";
import { realQmd } from "@memslot/fakes/qmd";

const { command, reason } = await realQmd();
if (reason !== undefined) process.stderr.write(`${reason}\n`);

describe.skipIf(command === undefined)("with the real qmd", () => {
  test("a question in whole sentences finds the note that answers it", async () => {
    const lab = memoryLab();
    lab.write("memory/2026-03-01.md", "# Sunday\n\nThe marmalade recipe of grandmother is in the blue folder.\n");
    lab.write(
      "memory/2026-03-02.md",
      "# Monday\n\nThe staging database moved to port 5544; ask Yusuf for the password.\n",
    );
    lab.write("memory/2026-03-03.md", "# Tuesday\n\nDentist at nine, groceries, a walk by the river.\n");
    lab.write("MEMORY.md", "# Household\n\nThe boiler is serviced each October by Brandt & Sons.\n");
    const { memory, ask } = await lab.open({ command });
    await memory.sync();
    for (const [question, path] of [
      ["On which port does our staging database listen now?", "memory/2026-03-02.md"],
      ["Can you tell me where I put grandmother's marmalade recipe?", "memory/2026-03-01.md"],
      ["Who comes to service the boiler, and when is that due?", "MEMORY.md"],
    ] as const) {
      const { paths, report } = await ask(question);
      expect([question, paths[0], report.state]).toEqual([question, path, "ok"]);
    }
  });

  test("notes with any name are found by qmd itself, and what is passed over is not read by it", async () => {
    const lab = memoryLab();
    const names = [
      "a b.md",
      "über uns.md",
      "c#.md",
      "r&d.md",
      "c++.md",
      "100%.md",
      "[x].md",
      "{y}.md",
      "(z).md",
      "笔记.md",
    ];
    for (const name of names) lab.write(`memory/${name}`, `The walrus is in ${name}.\n`);
    const big = "memory/too large, {really} [very] (1).md";
    lab.write(big, `${"x".repeat(17 * 1024 * 1024)}\n`);
    lab.write("memory/build/b.md", "The walrus is in a folder that qmd passes over.\n");
    const { memory, ask } = await lab.open({ command });
    await memory.sync();
    const { results, report } = await ask("walrus", { maxResults: 50, minScore: 0 });
    const wanted = [...names.map((name) => `memory/${name}`), "memory/build/b.md"];
    expect(results.map(({ path }) => path.normalize("NFC")).toSorted()).toEqual(wanted.toSorted());
    expect(report.state).toBe("ok");
    const check = await memory.check();
    expect(check?.findings.find(({ name }) => name === "documents")?.message).toBe(
      "qmd holds 10 notes, 10 were read into it; 1 more are searched by memslot itself",
    );
  });

  test("a single file with any name is read by qmd as an extra path", async () => {
    const lab = memoryLab();
    lab.write("docs/one, {a} [b] (1)! +@.md", "The heron nests.\n");
    lab.write("docs/two.md", "The heron rests.\n");
    // The layout of an agent: else all notes of the folder are memory.
    lab.write("MEMORY.md", "Nothing of birds.\n");
    const { memory, ask } = await lab.open({ command, qmd: { paths: [{ path: "docs/one, {a} [b] (1)! +@.md" }] } });
    await memory.sync();
    expect((await ask("heron")).results.map(({ snippet }) => snippet.trim())).toEqual(["The heron nests."]);
    expect(qmdStatus({ memory })).toMatchObject({ documents: 2, passedOver: 0 });
  });

  test("an index that is made anew with force holds everything again", async () => {
    const lab = memoryLab();
    for (let index = 0; index < 5; index++)
      lab.write(`memory/${index}.md`, `The ferry number${index} leaves at eight.\n`);
    const { memory, ask } = await lab.open({ command });
    await memory.sync();
    await memory.sync({ force: true });
    for (let index = 0; index < 5; index++) expect((await ask(`number${index}`)).paths).toEqual([`memory/${index}.md`]);
    expect((await memory.check())?.ok).toBe(true);
  });

  test("collections that are emptied and filled again hold everything again, as the vectors of an index ask for", async () => {
    const { openLedger } = await import("./ledger.ts");
    const { emptyIndex } = await import("./index-state.ts");
    const { openQmdProcess } = await import("../process/open-process.ts");
    const { findQmd } = await import("../process/find-qmd.ts");
    const { writeIndexYaml } = await import("./index-yaml.ts");
    const lab = memoryLab();
    const { signal } = new AbortController();
    lab.write("memory/a.md", "The ferry leaves at eight.\n");
    const collection = {
      name: "mslot2",
      source: "memory",
      root: `${lab.workspaceDir}/memory`,
      pattern: "**/*.md",
      ignore: [],
      isExtra: false,
    };
    const found = await findQmd({ command: command ?? "qmd", environment: process.env, signal });
    const qmd = openQmdProcess({
      found,
      folder: lab.folder,
      environment: process.env,
      mode: "lexical",
      notify: () => {},
    });
    try {
      writeIndexYaml(lab.folder, [collection], false);
      await qmd.update({ files: 1, signal });
      const documents = async (): Promise<number | undefined> => (await qmd.status(signal)).collections[0]?.documents;
      expect(await documents()).toBe(1);
      const ledger = openLedger(lab.folder, true);
      const how = { damaged: false, keepVectors: true, signal };
      await emptyIndex({ folder: lab.folder, process: qmd, ledger, collections: [collection], ...how });
      expect(await documents()).toBeUndefined();
      await qmd.update({ files: 1, signal });
      expect(await documents()).toBe(1);
      const { rows } = await qmd.query({
        searches: [{ type: "lex", query: "ferry" }],
        limit: 5,
        collections: ["mslot2"],
        rerank: false,
        deadlineMs: 5000,
        signal,
      });
      expect(rows.map(({ path }) => path)).toEqual(["a.md"]);
    } finally {
      await qmd.close();
    }
  });
});
