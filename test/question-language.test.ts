import { afterAll, describe, expect, test } from "vitest";
import { createReferencePlugin } from "@memslot/testkit";
import { type Memory, type MemorySearchResult, openMemory, parseConfig, type SearchReport } from "memslot";
import { createHouse, type House } from "./support/house.ts";

const group = "agent:main:telegram:group:-100";
const backends = ["memory-core", "memory-lancedb", "reference"] as const;

/** A note in each language, and a question with other forms of its words: no word stands in the note as it is asked for. */
const inflected: Record<string, { note: string; questions: readonly string[] }> = {
  da: {
    note: "Vi har talt med håndværkerne om vinduerne, og de kommer når det er varmere.",
    questions: ["håndværkerens vindue", "håndværker"],
  },
  de: {
    note: "Wir haben die beiden Gartenhäuser mit der Genehmigung der Behörden abgerissen.",
    questions: ["Wann ist das Gartenhaus abgerissen worden", "Genehmigungen", "Gartenhauses"],
  },
  es: {
    note: "La empresa de mudanzas no ha roto los espejos, pero sí las lámparas que son de la abuela.",
    questions: ["espejo roto mudanza", "mudanza", "lámpara"],
  },
  fr: {
    note: "Nous avons réservé les chambres pour les vacances, et le chauffeur est avec nous.",
    questions: ["réserver une chambre", "chauffeurs", "réservation de chambre"],
  },
  it: {
    note: "Abbiamo comprato le biciclette elettriche per i bambini, e non sono della zia.",
    questions: ["bicicletta elettrica", "comprare una bicicletta"],
  },
  nl: {
    note: "De aannemers hebben de dakramen van het huis niet op tijd geplaatst en dat is een probleem.",
    questions: ["aannemer dakraam", "dakramen", "problemen"],
  },
  no: {
    note: "Vi må ikke glemme å vaske hyttene og båtene før vinteren, og det er ikke lett.",
    questions: ["hytta vinter", "hytten", "båter"],
  },
  pt: {
    note: "Os documentos do apartamento estão com a advogada, e não foram assinados pelo vizinho.",
    questions: ["documento do advogado", "apartamentos", "vizinhos"],
  },
  ru: {
    note: "Мы с женой купили билеты на концерты, и они были очень дорогие для нас.",
    questions: ["билет на концерт", "билетов", "концертами"],
  },
  sv: {
    note: "Vi har beställt fönstren och dörrarna till stugan, men de är inte här än.",
    questions: ["dörr stuga", "dörren", "dörrarnas"],
  },
};

const others: Record<string, string> = {
  "memory/Urlaub.md": "# Ferien\n\nDie Regelung für den Sommer hat das Team im Februar mit der Chefin besprochen.\n",
  "memory/compound.md": "Die Frist der Steuer ist am 31. Juli, und das ist bald.\n",
  "memory/joined.md": "Wir haben den Kellerschlüssel bei der Nachbarin gelassen.\n",
  "memory/sweets.md": "The best icecream of the town is at the harbour.\n",
  "memory/parlour.md": "Her sailing boat lies in the yacht harbour.\n",
  "memory/postgres.md": "We moved Postgres to the new machine.\n",
  "memory/umlaut.md": "Herr Müller hat die Heizung repariert, und sie läuft wieder.\n",
  "memory/spelled.md": "Frau Koenig is the one who has the keys.\n",
  "memory/simplified.md": "我们把数据库搬到了新的服务器。\n",
  "memory/traditional.md": "她的頭髮很長。\n",
  "memory/department.md": "The budget of IT was cut by the board.\n",
  "memory/small.md": "The budget is tight, it was cut and it will be cut again, it is what it is.\n",
  "memory/hamlet.md": "He said: to be or not to be.\n",
  "memory/band.md": "The Who played in Leeds.\n",
  "memory/point.md": "A positive point was made, and they will wait.\n",
  "memory/cyrillic.md": "Мы с ней были в библиотеке, и она не закрыта.\n",
  ...Object.fromEntries(
    Array.from({ length: 20 }, (_, at) => [
      `memory/filler-${at}.md`,
      `Nothing much on day ${at}: a walk, a nap, and soup for who was there.\n`,
    ]),
  ),
};
const notes: Record<string, string> = {
  ...Object.fromEntries(Object.entries(inflected).map(([code, { note }]) => [`memory/${code}.md`, `${note}\n`])),
  ...others,
};

interface Told {
  results: MemorySearchResult[];
  report: SearchReport | undefined;
}

const houses: House[] = [];
const closed: (() => Promise<unknown>)[] = [];
afterAll(async () => {
  for (const close of closed) await close();
  for (const house of houses) await house.end();
});

async function openWith(backend: (typeof backends)[number], files: Record<string, string>): Promise<Memory> {
  const house = createHouse();
  houses.push(house);
  house.write(files);
  const memorySearch = {
    provider: "none",
    extraPaths: [`${house.notes}/team`],
    sync: { watch: false, onSearch: false },
  };
  const agents = { defaults: { workspace: house.notes, memorySearch } };
  const slots = { plugins: { slots: { memory: backend } } };
  const config = parseConfig({ ...slots, agents }, { stateDir: house.stateDir, env: {} });
  const memory = await openMemory({
    config,
    agentId: "main",
    plugins: backend === "reference" ? [createReferencePlugin()] : [],
  });
  closed.push(() => memory.close());
  await memory.sync();
  return memory;
}

async function ask(memory: Memory, query: string, sessionKey?: string): Promise<Told> {
  let report: SearchReport | undefined;
  const results = await memory.search(query, { sessionKey, onDebug: (given) => void (report = given) });
  return { results, report };
}

describe.each(backends)("in %s", (backend) => {
  const opened = openWith(backend, notes);

  test.each(Object.keys(inflected))("a question in %s finds a note that has other forms of its words", async (code) => {
    for (const question of inflected[code]?.questions ?? []) {
      const { results, report } = await ask(await opened, question);
      expect([question, results[0]?.path, report?.readings]).toEqual([question, `memory/${code}.md`, undefined]);
    }
  });

  test.each([
    ["postgress", "memory/postgres.md", "Postgres"],
    ["Postgers machine", "memory/postgres.md", "Postgres"],
    ["библеотека", "memory/cyrillic.md", "библиотеке"],
    ["Mueller", "memory/umlaut.md", "Müller"],
    ["König", "memory/spelled.md", "Koenig"],
    ["Steuerfrist", "memory/compound.md", "Frist der Steuer"],
    ["Urlaubsregelung", "memory/Urlaub.md", "Urlaub … Regelung"],
    ["yachtharbour", "memory/parlour.md", "yacht harbour"],
    ["數據庫", "memory/simplified.md", "数据库"],
    ["头发", "memory/traditional.md", "頭髮"],
  ])("%s, which stands nowhere, finds %s and is told", async (query, path, as) => {
    const { results, report } = await ask(await opened, query);
    expect([results[0]?.path, report?.readings]).toEqual([path, [{ word: query.split(" ")[0], as }]]);
  });

  test.each([
    ["ice cream", "memory/sweets.md", "icecream"],
    ["Schlüssel vom Keller", "memory/joined.md", "Kellerschlüssel"],
  ])("%s finds the one word that it is", async (query, path, as) => {
    const { results, report } = await ask(await opened, query);
    expect(results[0]?.path).toBe(path);
    expect(report?.readings?.map((reading) => reading.as)).toContain(as);
  });

  test("what stands somewhere is never read otherwise, and what is near to nothing stays nothing", async () => {
    for (const query of [
      "Müller",
      "icecream",
      "harbour",
      "数据库",
      "zzyzx",
      "xylophonist",
      "qx-7919",
      "political",
      "painting",
      "writing",
    ])
      expect([query, (await ask(await opened, query)).report?.readings]).toEqual([query, undefined]);
    expect((await ask(await opened, "zzyzx")).results).toEqual([]);
  });

  test("IT in capitals is the department, and a question of stop words finds its words", async () => {
    expect((await ask(await opened, "IT budget")).results[0]?.path).toBe("memory/department.md");
    expect((await ask(await opened, "IT")).results.map(({ path }) => path)).toEqual(["memory/department.md"]);
    expect((await ask(await opened, "to be or not to be")).results[0]?.path).toBe("memory/hamlet.md");
    const both = (await ask(await opened, "The Who")).results.slice(0, 2);
    expect(both.map(({ path }) => path)).toContain("memory/band.md");
  });

  test("a group learns nothing of a word that stands in private notes alone, however it is asked for", async () => {
    const shared = { "team/plan.md": "The plan of the team: deploy on Friday.\n" };
    const own = {
      "MEMORY.md": "Zanzibar and the icecream parlour. Die Scheidung ist mit der Anwältin besprochen. 離婚\n",
      "memory/a.md": "Wir haben der Anwältin die Steuer und die Frist genannt. IT\n",
    };
    const questions = [
      "zanzibr",
      "Zanzebar plan",
      "ice cream plan",
      "Scheidungen",
      "die Scheidug der Team",
      "离婚",
      "Steuerfrist",
      "Anwaeltin",
      "IT plan",
      "deplyo",
    ];
    const toldBy = async (memory: Memory): Promise<unknown[]> => {
      const told: unknown[] = [];
      for (const query of questions) {
        const { results, report } = await ask(memory, query, group);
        told.push({ query, results, report: { ...report, timingsMs: undefined } });
      }
      return told;
    };
    const [without, withAll] = [await openWith(backend, shared), await openWith(backend, { ...shared, ...own })];
    expect(await toldBy(withAll)).toEqual(await toldBy(without));
    expect((await ask(without, "deplyo", group)).report?.readings).toEqual([{ word: "deplyo", as: "deploy" }]);
    expect((await ask(withAll, "zanzibr")).report?.readings).toEqual([{ word: "zanzibr", as: "Zanzibar" }]);
  });
});
