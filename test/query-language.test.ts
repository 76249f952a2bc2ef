import { makeFakeQmd } from "@memslot/fakes/qmd";
import { deterministicEmbeddings, createReferencePlugin } from "@memslot/testkit";
import {
  openMemory,
  parseConfig,
  type Memory,
  type MemorySearchOptions,
  type MemorySearchResult,
  type SearchReport,
} from "memslot";
import { mkdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { createHouse, type House } from "./support/house.ts";

const crowd = 450;

const notes: Record<string, string> = {
  "MEMORY.md": "# Facts\n\nThe heat pump stands in the cellar.\n",
  "memory/pump.md": "---\ntags: [home, area/home]\n---\n\nThe pump gave no heat. A heat\npump is loud at night.\n",
  "memory/heat.md": "---\ntags: [area/homework]\n---\n\nSo much heat, and the pump of the well is dry.\n",
  "memory/projects/Wärmepumpe.md": "Die Wärmepumpe läuft seit gestern. #area/home/cellar\n",
  "memory/热泵.md": "新的热泵系统很安静。冷的泵和热的水。\n",
  "memory/projects/node.md": "We use node.js and c++ here; the memorySearch key is off.\n",
  "memory/2024-03-05.md": "Dentist at nine, then the heat pump man came.\n",
  "memory/2025-01-10.md": "The dentist has moved to Mill Road.\n",
  "memory/2026-02-11-trip.md": "Dentist in Krakow, in an emergency.\n",
  "memory/by-property.md": "---\ndate: 2025-06-01\ntitle: Teeth\n---\n\nThe dentist wrote a bill.\n",
  "memory/log.md": "# Log\n\n## 2023-05-01\n\nAsked the dentist for a date.\n\n## 2024-12-24\n\nA goose.\n",
  "memory/undated.md": "A dentist is a doctor of teeth.\n",
  "memory/recipes/soup.md": "Carrot soup with ginger.\n",
  "memory/recipes/2026-01-02-bread.md": "Bread with carrot.\n",
};

/** Each of the crowd is a better match for "otter" than the three, and holds "holt" or lies elsewhere. */
function crowded(): Record<string, string> {
  const files: Record<string, string> = {};
  for (let index = 0; index < crowd; index++)
    files[`memory/crowd/${index}.md`] = `otter otter otter otter\nholt of the otter ${index}\n`;
  for (let index = 0; index < 3; index++)
    files[`memory/few/${index}.md`] =
      `---\ntags: [rare]\ndate: 2019-07-0${index + 1}\n---\n\n${"A long day by the river with many words and one otter. ".repeat(3)}\n`;
  return files;
}

type Asked = { results: MemorySearchResult[]; paths: string[]; report: SearchReport };

async function ask(memory: Memory, query: string, options: MemorySearchOptions = {}): Promise<Asked> {
  let report: SearchReport | undefined;
  const results = await memory.search(query, { maxResults: 20, ...options, onDebug: (given) => (report = given) });
  if (report === undefined) throw new Error("no report");
  return { results, paths: results.map(({ path }) => path.replace(/^memory\//u, "")), report };
}

const backends = ["memory-core", "memory-lancedb", "reference", "memory-core by meaning", "qmd"] as const;

describe.each(backends)("%s", (backend) => {
  let house: House;
  let memory: Memory;
  const fake = makeFakeQmd();

  beforeAll(async () => {
    house = createHouse();
    // qmd is asked for words where there are too many notes to read them all: that is another test.
    house.write({ ...notes, ...(backend === "qmd" ? {} : crowded()) });
    const embeddings = backend.endsWith("meaning") ? deterministicEmbeddings({ dimensions: 32 }) : undefined;
    const settings =
      backend === "qmd"
        ? { memory: { backend: "qmd", qmd: { command: fake.command, fallback: "none" } } }
        : { plugins: { slots: { memory: backend.split(" ")[0] }, entries: {} } };
    const provider = embeddings === undefined ? { provider: "none" } : {};
    const agents = { defaults: { workspace: house.notes, memorySearch: { ...provider, sync: { watch: false } } } };
    memory = await openMemory({
      config: parseConfig({ ...settings, agents }, { stateDir: house.stateDir, env: {} }),
      agentId: "main",
      embeddings,
      notify: () => {},
      ...(backend === "reference" && { plugins: [createReferencePlugin()] }),
    });
    await memory.sync();
  }, 120_000);
  afterAll(async () => {
    await memory.close();
    await house.end();
    fake.remove();
  });

  const found = async (query: string, options?: MemorySearchOptions): Promise<string[]> =>
    (await ask(memory, query, options)).paths.toSorted();

  test.each([
    ['"heat pump"', ["2024-03-05.md", "MEMORY.md", "pump.md"]],
    ['„heat pump“ "at night"', ["pump.md"]],
    ['"pump heat"', []],
    ['"heat pump" -cellar -"at night"', ["2024-03-05.md"]],
    ["“Wärmepumpe läuft”", ["projects/Wärmepumpe.md"]],
    ["「热泵系统」", ["热泵.md"]],
    ['"热泵"', ["热泵.md"]],
    ['"系统热"', []],
    ['"memorysearch key"', ["projects/node.md"]],
    ['"memory search key"', ["projects/node.md"]],
    ['"node.js and C++"', ["projects/node.md"]],
    ['"node.js and c"', ["projects/node.md"]],
    ['"in the"', ["MEMORY.md"]],
    ["heat -pump", []],
    ["pump -heat", []],
    ["pump -well", ["2024-03-05.md", "MEMORY.md", "pump.md"]],
    ["tag:home", ["pump.md"]],
    ["tag:#AREA/home", ["projects/Wärmepumpe.md", "pump.md"]],
    ["tag:area", ["heat.md", "projects/Wärmepumpe.md", "pump.md"]],
    ["tag:area -tag:area/homework", ["projects/Wärmepumpe.md", "pump.md"]],
    ["tag:area tag:home", ["pump.md"]],
    ["tag:hom", []],
    ["path:memory/projects", ["projects/Wärmepumpe.md", "projects/node.md"]],
    ["path:Memory/Projects/W", ["projects/Wärmepumpe.md"]],
    ["path:memory\\projects\\W", ["projects/Wärmepumpe.md"]],
    ["path:memory/*/node.*", ["projects/node.md"]],
    ["path:memory/projects path:memory/recipes/s", ["projects/Wärmepumpe.md", "projects/node.md", "recipes/soup.md"]],
    ["carrot -path:memory/recipes/soup.md", ["recipes/2026-01-02-bread.md"]],
    ["source:sessions heat", []],
    ["-source:memory heat", []],
    ["dentist after:2025", ["2025-01-10.md", "2026-02-11-trip.md", "by-property.md"]],
    ["dentist before:2025", ["2024-03-05.md", "log.md"]],
    ["dentist after:2024-03-05 before:2025-01-10", ["2024-03-05.md"]],
    ['dentist after:"March 2024" before:2025', ["2024-03-05.md"]],
  ])("%s finds %j and nothing else", async (query, paths) => {
    const all = await found(query);
    // By meaning more is near to a word than what holds it. What is to be left out never comes, and a phrase has to be there.
    const isOpen = backend.endsWith("meaning") && /^[a-z]+ -/u.test(query);
    expect(isOpen ? all.filter((path) => paths.includes(path)) : all).toEqual(paths);
    const left = /^[a-z]+ -(?<word>[a-z]+)$/u.exec(query)?.groups?.["word"];
    if (left !== undefined)
      for (const path of all)
        expect(notes[`memory/${path}`] ?? notes[path] ?? "").not.toMatch(new RegExp(String.raw`\b${left}`, "iu"));
  });

  test.each([
    [{ since: "2025" }, ["2025-01-10.md", "2026-02-11-trip.md", "by-property.md"]],
    [{ since: "2024-03-05", until: "2025-01-10" }, ["2024-03-05.md", "2025-01-10.md"]],
    [{ since: "2024-03-06", until: "2025-01-09" }, []],
    [{ until: "2023-05-01" }, ["log.md"]],
    [{ until: "May 2023" }, ["log.md"]],
    [{ since: "11 February 2026" }, ["2026-02-11-trip.md"]],
    [{ since: "2026-02-11T23:59:00" }, ["2026-02-11-trip.md"]],
  ])("dentist within %j is in %j", async (options, paths) => {
    expect(await found("dentist", options)).toEqual(paths);
    const { report } = await ask(memory, "dentist", options);
    // Each note without a day that holds nothing else against it: the folder has as many as were written.
    expect(report.filters?.undated).toBeGreaterThan(0);
    expect(report.filters?.order).toBe("relevance");
  });

  test.each(["", " ", "?", '""'])("%j with days asks for all that is of them", async (query) => {
    const days = { since: "2024-03-01", until: "2025-06-30" };
    const { paths, report } = await ask(memory, query, days);
    expect(paths.toSorted()).toEqual(["2024-03-05.md", "2025-01-10.md", "by-property.md", "log.md"]);
    expect(report).toMatchObject({ state: "ok", filters: { words: "", since: "2024-03-01", until: "2025-06-30" } });
    const newest = await ask(memory, query, { order: "newest" });
    expect(newest.paths[0]).toBe("2026-02-11-trip.md");
  });

  test("the newest and the oldest come first, those without a day last", async () => {
    const order = ["2026-02-11-trip.md", "by-property.md", "2025-01-10.md", "2024-03-05.md"];
    const { paths, report } = await ask(memory, "dentist", { order: "newest", since: "2024", until: "2026" });
    expect(paths).toEqual(order);
    expect(report.filters).toMatchObject({ since: "2024-01-01", until: "2026-12-31", order: "newest" });
    expect((await ask(memory, "dentist", { order: "oldest", since: "2024", until: "2026" })).paths).toEqual(
      order.toReversed(),
    );
    const all = (await ask(memory, "dentist", { order: "newest" })).paths;
    if (!backend.endsWith("meaning")) expect(all).toEqual([...order, "log.md", "undated.md"]);
    expect((await ask(memory, "dentist", { order: "newest", maxResults: 1 })).paths).toEqual(["2026-02-11-trip.md"]);
  });

  test("filters without a word list the notes, the newest first, each once", async () => {
    const { paths, report } = await ask(memory, "path:memory/20 path:memory/by path:memory/recipes");
    expect(paths).toEqual([
      "2026-02-11-trip.md",
      "recipes/2026-01-02-bread.md",
      "by-property.md",
      "2025-01-10.md",
      "2024-03-05.md",
      "recipes/soup.md",
    ]);
    expect(report).toMatchObject({ state: "ok", filters: { words: "", order: "newest" } });
    expect((await ask(memory, "path:memory/20 after:2025", { order: "oldest" })).paths).toEqual([
      "2025-01-10.md",
      "2026-02-11-trip.md",
    ]);
    expect((await ask(memory, "path:memory/recipes -ginger")).paths).toEqual(["recipes/2026-01-02-bread.md"]);
    expect((await ask(memory, "path:memory/recipes", { maxResults: 1 })).report.dropped.limit).toBe(1);
  });

  test("an answer that is empty says which part left out what", async () => {
    const reason = async (query: string, options?: MemorySearchOptions): Promise<string | undefined> =>
      (await ask(memory, query, options)).report.reason;
    // qmd is not asked twice, and by meaning something is always near.
    if (backend === "qmd") return expect(await reason('"pump heat"')).toBeDefined();
    if (backend.endsWith("meaning"))
      return expect(await reason('"pump heat"')).toMatch(
        /^no note holds the phrase "pump heat"; without it \d+ results$/u,
      );
    expect(await reason('"pump heat"')).toMatch(/^no note holds the phrase "pump heat"; without it \d+ results$/u);
    expect(await reason("ginger -carrot")).toBe('all that matches holds "carrot"; without it 1 result');
    expect(await reason("ginger tag:home")).toBe("nothing that matches has tag:home; without it 1 result");
    expect(await reason("carrot -path:memory/recipes")).toMatch(
      /^all that matches lies at path:memory\/recipes; without it \d+ results?$/u,
    );
    expect(await reason("tag:home -tag:area")).toMatch(/^no note has tag:home -tag:area/u);
    expect(await reason("tag:nowhere")).toBe("no note has tag:nowhere");
    expect(await reason("ginger", { since: "2026" })).toBe(
      "nothing that matches is of the days since 2026-01-01; without it 1 result",
    );
    expect(await reason("ginger path:memory/projects -soup")).toBe("no note fits all that was asked for");
    expect(await reason('ginger path:memory/projects tag:home "carrot soup"')).toBe(
      "no note fits all that was asked for",
    );
    expect(await reason("bread ginger path:memory/projects -zebra")).toMatch(
      /^no note fits all that was asked for; without path:memory\/projects \d results$/u,
    );
  });

  test("what looks like a filter and is none is words, and the report says so", async () => {
    const { paths, report } = await ask(memory, "after:yesteryear source:nowhere ginger");
    expect(paths[0]).toBe("recipes/soup.md");
    expect(report.filters?.words).toBe("after:yesteryear source:nowhere ginger");
    expect(report.filters?.unread).toEqual([
      expect.stringMatching(/^after:yesteryear was taken for words: it is no time such as 2026-03-05/u),
      "source:nowhere was taken for words: the sources are memory, sessions, journal, claude-code, codex, gemini, opencode, cursor",
    ]);
    expect((await ask(memory, "ginger")).report.filters).toBeUndefined();
  });

  test("a time that cannot be read is an error that names the argument and the forms it takes", async () => {
    const forms = 'such as 2026-03-05, 2026-03, 2026, "yesterday" or "last week"';
    for (const [options, message] of [
      [{ since: "yesteryear" }, `since must be a day or a time, ${forms}, not "yesteryear"`],
      [{ until: "2026-02-30" }, `until must be a day or a time, ${forms}, not "2026-02-30"`],
      [{ until: " " }, `until must be a day or a time, ${forms}, not " "`],
      [{ since: 2026 as never }, `since must be a day or a time, ${forms}, not 2026`],
      [{ since: "2026", until: "2025" }, "since must not be after until: 2026-01-01 is after 2025-12-31"],
      [{ order: "best" as never }, 'order must be one of relevance, newest, oldest, not "best"'],
    ] as const)
      await expect(memory.search("heat", options)).rejects.toMatchObject({ code: "INVALID_ARGUMENT", message });
  });

  test.skipIf(backend === "qmd")(
    `three results behind ${crowd} better ones outside of the filter are found`,
    async () => {
      const few = ["few/0.md", "few/1.md", "few/2.md"];
      expect((await ask(memory, "otter")).paths.some((path) => few.includes(path))).toBe(false);
      for (const [query, options] of [
        ["otter -holt", {}],
        ['otter -"holt of the otter"', {}],
        ["otter path:memory/few", {}],
        ["otter -path:memory/crowd", {}],
        ["otter tag:rare", {}],
        ["otter before:2020", {}],
        ["otter", { since: "2019-07-01", until: "2019-07-03" }],
        ['otter "one otter"', {}],
        ["otter -holt before:2020 tag:rare", {}],
      ] as const) {
        const paths = await found(query, options);
        expect([query, paths.filter((path) => few.includes(path))]).toEqual([query, few]);
        expect(paths.filter((path) => path.startsWith("crowd"))).toEqual([]);
        if (!backend.endsWith("meaning")) expect(paths).toEqual(few);
      }
      expect((await ask(memory, "otter", { order: "newest", maxResults: 3 })).paths).toEqual(few.toReversed());
    },
  );
});

test("in a group no filter tells of private notes: not by a result, a count, a reason or a day", async () => {
  const told = async (withPrivate: boolean): Promise<unknown[]> => {
    const own = createHouse();
    onTestFinished(() => own.end());
    const shared = path.join(own.folder, "shared");
    mkdirSync(shared);
    writeFileSync(path.join(shared, "team.md"), "The team ferry leaves at nine. #open\n");
    writeFileSync(path.join(shared, "2025-02-01.md"), "A team day by the lake.\n");
    if (withPrivate)
      own.write({
        "MEMORY.md": "The secret ferry leaves at noon. #hush\n",
        "memory/2024-01-01.md": "A secret ferry of the team.\n",
        "memory/hush/undated.md": "---\ntags: [open, hush]\n---\n\nA secret team and a secret ferry.\n",
      });
    const memory = await own.open({ memorySearch: { extraPaths: [shared], sync: { watch: false } } });
    const sessionKey = "agent:main:telegram:group:-100";
    const answers: unknown[] = [];
    for (const [query, options] of [
      ['"secret ferry"', {}],
      ['"team ferry"', {}],
      ["tag:hush", {}],
      ["tag:open", {}],
      ["ferry tag:hush", {}],
      ["ferry -team", {}],
      ["ferry path:memory", {}],
      ["path:memory/hush", {}],
      ["ferry", { since: "2024" }],
      ["ferry", { order: "oldest" }],
      ["after:2020", {}],
      ["before:2025", {}],
      ["team -secret", {}],
      ["-ferry", {}],
    ] as const) {
      const { paths, report } = await ask(memory, query, { ...options, sessionKey });
      const { timingsMs: _timings, ...facts } = report;
      answers.push([query, paths, facts]);
    }
    await memory.close();
    return answers;
  };
  const answers = await told(true);
  expect(answers).toEqual(await told(false));
  expect(JSON.stringify(answers)).not.toMatch(/MEMORY\.md|2024-01-01\.md|undated\.md/u);
  expect(JSON.stringify(answers)).toContain("2025-02-01.md");
});

test("of more notes than qmd's are read by themselves, what it finds is filtered, and the answer says that there may be more", async () => {
  const house = createHouse();
  const fake = makeFakeQmd();
  onTestFinished(async () => {
    await house.end();
    fake.remove();
  });
  for (let index = 0; index < 210; index++)
    house.write({ [`memory/${index}.md`]: `The otter of holt ${index}.${index % 70 === 0 ? " #rare" : ""}\n` });
  const memory = await house.open({
    settings: { memory: { backend: "qmd", qmd: { command: fake.command, fallback: "none" } } },
    memorySearch: { sync: { watch: false } },
  });
  await memory.sync();
  const filtered = await ask(memory, "otter -holt");
  expect(filtered.paths).toEqual([]);
  expect(filtered.report).toMatchObject({ state: "degraded", filters: { excluded: ["holt"] } });
  expect(filtered.report.reason).toContain("what fits was chosen among what qmd has found: there may be more");
  expect((await ask(memory, "tag:rare")).report.reason).toContain("only the notes that were saved last were looked at");
  const narrow = await ask(memory, "otter path:memory/20 -holt");
  expect(narrow.report.state).toBe("ok");
  expect((await ask(memory, 'path:memory/14 "holt 140"')).paths).toEqual(["140.md"]);
  expect((await ask(memory, "path:memory/14 tag:rare")).paths).toEqual(["140.md"]);
  expect((await ask(memory, "otter")).report.state).toBe("ok");
});
