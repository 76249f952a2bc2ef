import { writeFileSync } from "node:fs";
import path from "node:path";
import type { Memory } from "memslot";
import { describe, expect, test } from "vitest";
import { ask } from "../support/embedding-bench.ts";
import { type House, useHouse } from "../support/house.ts";
import { sessionsFolder } from "../support/random-notes.ts";
import { randomOf } from "../support/random.ts";
import { runCli } from "../support/run-cli.ts";

/** A sentence, and what is asked to find it: parts of words where a script has no spaces, words and beginnings elsewhere. */
const scripts: Record<string, { text: string; queries: string[] }> = {
  zh: {
    text: "飞书插件的配置说明写在项目文档里。",
    queries: ["飞书", "配置说明", "插件的配置说明", "飞书插件配置", "书"],
  },
  ja: { text: "来週の火曜日に京都で会議があります。", queries: ["京都", "火曜日", "会議があります", "京都会議"] },
  ko: { text: "서버의 비밀번호는 금고 안에 보관합니다.", queries: ["비밀번호", "금고", "서버의 비밀번호는"] },
  th: { text: "เครื่องพิมพ์อยู่ที่ชั้นสองของสำนักงาน", queries: ["เครื่องพิมพ์", "ชั้นสอง", "สำนักงาน"] },
  ar: { text: "موعد الطبيب يوم الخميس في الصباح.", queries: ["الطبيب", "موعد الطبيب", "الخميس"] },
  he: { text: "המפתח של המחסן נמצא אצל השכן.", queries: ["המפתח", "המחסן", "השכן"] },
  ru: { text: "Резервная копия хранится на старом ноутбуке.", queries: ["копия", "резервная копия", "ноутбуке"] },
  de: {
    text: "Der Schlüssel für die Gartentür hängt an der Garderobe.",
    queries: ["Schlüssel", "schlussel", "Gartentür"],
  },
  vi: { text: "Cuộc họp với khách hàng dời sang thứ Sáu.", queries: ["khách hàng", "khach hang", "cuộc họp"] },
  hi: { text: "दवाई की पर्ची रसोई की दराज में रखी है।", queries: ["दवाई", "रसोई की दराज", "पर्ची"] },
  mixed: { text: "昨天重跑gen-itgc后结果正常。", queries: ["重跑gen-itgc后", "gen-itgc", "重跑", "结果正常"] },
  fr: { text: "Le café près de la gare ouvre à six heures.", queries: ["café", "cafe", "gare"] },
};

/** Notes and transcripts with the same sentences, among others of each script. */
async function openMatrix(house: House, form: "NFC" | "NFD"): Promise<Memory> {
  const said: string[] = [];
  for (const [script, { text }] of Object.entries(scripts)) {
    const written = text.normalize(form);
    house.write({ [`memory/${script}.md`]: `${written}\n` });
    said.push(JSON.stringify({ type: "message", message: { role: "user", content: written } }));
  }
  for (let index = 0; index < 40; index++)
    house.write({ [`memory/filler-${index}.md`]: `Note ${index} about the weather.\n` });
  writeFileSync(path.join(sessionsFolder(house), "talk.jsonl"), `${said.join("\n")}\n`);
  const memory = await house.open({
    memorySearch: { sources: ["memory", "sessions"], chunking: { tokens: 50, overlap: 0 } },
  });
  expect(await memory.sync({ reason: "cli" })).toMatchObject({ failed: [] });
  return memory;
}

describe.each(["NFC", "NFD"] as const)("text written in %s", (form) => {
  test("is found in every script, in notes and transcripts, however the question is written", async () => {
    const house = useHouse();
    const memory = await openMatrix(house, form);
    for (const [script, { text, queries }] of Object.entries(scripts))
      for (const query of queries)
        for (const asked of [query.normalize("NFC"), query.normalize("NFD")]) {
          const notes = await memory.search(asked, { sources: ["memory"], maxResults: 3 });
          expect(
            notes.map((result) => result.path),
            `${script}: ${asked}`,
          ).toContain(`memory/${script}.md`);
          const talk = await memory.search(asked, { sources: ["sessions"], maxResults: 3 });
          const snippets = talk.map((result) => result.snippet.normalize("NFC")).join("\n");
          expect(snippets, `${script} in the transcript: ${asked}`).toContain(text.normalize("NFC"));
        }
  });
});

test("the command finds the same as the library", async () => {
  const house = useHouse();
  const memory = await openMatrix(house, "NFC");
  const config = path.join(house.folder, "memslot.json");
  const memorySearch = {
    provider: "none",
    sources: ["memory", "sessions"],
    chunking: { tokens: 50, overlap: 0 },
    store: { path: memory.status().dbPath },
  };
  writeFileSync(config, JSON.stringify({ agents: { defaults: { workspace: house.notes, memorySearch } } }));
  for (const query of ["飞书插件配置", "khach hang"]) {
    const { results } = await ask(memory, query);
    const run = await runCli(["memory", "search", query, "--json"], { stateDir: house.stateDir, config });
    const answer = JSON.parse(run.stdout) as { results: typeof results };
    expect(answer.results.map((result) => [result.path, result.startLine])).toEqual(
      results.map((result) => [result.path, result.startLine]),
    );
    expect(results.length).toBeGreaterThan(0);
  }
});

test("no question whatever is an error", async () => {
  const house = useHouse();
  const memory = await openMatrix(house, "NFC");
  const random = randomOf(3);
  const pieces = [
    `"`,
    "'",
    "-",
    "*",
    "/",
    ":",
    "^",
    "(",
    ")",
    "NEAR",
    "AND",
    "OR",
    "NOT",
    "\u0000",
    "\ud800",
    "%",
    "_",
    " ",
    "\n",
    "{",
    "}",
    "+",
  ];
  const words = Object.values(scripts).flatMap(({ queries }) => queries);
  for (let round = 0; round < 400; round++) {
    const query = Array.from({ length: 1 + random.below(8) }, () =>
      random.pick(random.chance(0.6) ? pieces : words),
    ).join("");
    expect(await memory.search(query), JSON.stringify(query)).toBeInstanceOf(Array);
  }
});
