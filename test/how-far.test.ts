import { type Memory, type SearchReport } from "memslot";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createHouse, type House } from "./support/house.ts";

/** A vault as somebody keeps one: people, a house, work, in three languages. */
const notes = {
  "People/Tom.md": "# Tom\n\nBorn in Leeds, plays the cello.\nHis shoe size is 43.\n",
  "People/Ruth.md": "# Ruth\n\nHer allergy: peanuts. Birthday on 3 May.\n",
  "House/Boiler.md": "# Boiler\n\nServiced each autumn by Hartley & Sons. The pressure is 1.5 bar.\n",
  "House/Bins.md": "# Bins\n\nPaper goes out on Tuesday, glass on Friday.\n",
  "Work/Berlin.md": "# Berlin office\n\nThe lease ends in June. The rent is 4,000 a month.\n",
  "Work/Hiring.md": "# Hiring\n\nTwo interviews for the design job. The budget is 60,000.\n",
  "Rezepte/Brot.md": "# Brot\n\nDas Mehl mit Wasser verrühren und den Teig über Nacht ruhen lassen.\n",
  "Haus/Heizung.md": "# Heizung\n\nDer Monteur kommt im Oktober, die Wartung kostet 180 Euro.\n",
  "朋友/李明.md": "# 李明\n\n李明的生日是五月三号。他负责财务和采购。\n",
  "家/水管.md": "# 水管\n\n水管工的电话是 555-0134。厨房的水龙头漏水。\n",
  "Projekte/Steuer/Fristen.md": "# Fristen\n\nDie Erklärung ist am 31. Juli beim Amt und nicht früher.\n",
  "Projects/Kitchen/Budget.md": "# Budget\n\nTiles 900, oven 700.\n",
  "Journal/2026-02-03.md": "# Tuesday\n\nWent to the dentist in February, then home.\n",
};

let house: House;
let memory: Memory;

beforeAll(async () => {
  house = createHouse();
  house.write(notes);
  memory = await house.open({ memorySearch: { notes: "all", sync: { watch: false } } });
  await memory.sync();
});

afterAll(async () => await house.end());

async function levelOf(query: string): Promise<{ level: string | undefined; reason: string | undefined }> {
  let report: SearchReport | undefined;
  await memory.search(query, { onDebug: (given) => (report = given) });
  return { level: report?.match?.level, reason: report?.match?.reason };
}

test.each([
  ["kitchen budget", "Projects/Kitchen/Budget.md"],
  ["Steuerfrist", "Projekte/Steuer/Fristen.md"],
  ["tiles in the kitchen", "Projects/Kitchen/Budget.md"],
])("%s: found by the names of its folders, %s", async (query, path) => {
  const [first] = await memory.search(query);
  expect(first?.path).toBe(path);
  expect((await levelOf(query)).level).toBe("strong");
});

describe("how far an answer is one", () => {
  test.each([
    "Tom shoe size",
    "what is Ruth allergic to, what allergy",
    "when is the boiler serviced",
    "rent of the Berlin office",
    "which day is paper out",
    "Wann kommt der Monteur für die Heizung?",
    "李明的生日是什么时候",
    "李明负责什么",
    "水管工的电话",
    "厨房漏水",
    "what did I do on 3 February",
    "budget for the design job",
  ])("%s: strong", async (query) => {
    expect(await levelOf(query)).toEqual({ level: "strong", reason: undefined });
  });

  test.each([
    ["Tom allergy", "different notes"],
    ["when is Tom's birthday", "different notes"],
    ["boiler rent", "different notes"],
    ["dentist budget", "different notes"],
    ["peanuts pressure", "different notes"],
    ["Heizung Mehl", "different notes"],
  ])("%s: its words are scattered over %s", async (query, where) => {
    expect(await levelOf(query)).toEqual({ level: "weak", reason: expect.stringContaining(where) });
  });

  test.each([
    ["what is the shoe size of Gustav", "Gustav"],
    ["王芳的生日是什么时候", "王芳"],
    ["王芳负责什么", "王芳"],
    ["张伟的电话", "张伟"],
    ["陈医生的电话是多少", "陈医生"],
    ["欧阳娜娜的生日", "欧阳娜娜"],
    ["what did I do on 31 February", "31 February"],
  ])("%s: none, and %s is named", async (query, name) => {
    const { level, reason } = await levelOf(query);
    expect(level).toBe("none");
    expect(reason).toContain(name);
  });

  test.each([
    "Gustav shoe size",
    "gustav's shoe size",
    "what is the shoe size of gustav",
    "wie groß sind die schuhe von gustav",
    "when is petra's birthday",
  ])("%s: a name in small letters that stands nowhere makes it no strong one", async (query) => {
    expect((await levelOf(query)).level).not.toBe("strong");
  });
});
