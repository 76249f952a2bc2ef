import assert from "node:assert/strict";
import { assertFinds, pathsOf } from "../lab/expect.ts";
import type { MemoryCheck } from "../lab/lab.ts";
import { openWith } from "../lab/notes.ts";

const prose = "It was a long day with a good many errands, two calls with the bank and a walk in the rain. ";

/** What finding by words promises. */
export const wordChecks: readonly MemoryCheck[] = [
  {
    name: "search: words alone are enough under the default minScore",
    needs: ["keyword"],
    async run(lab) {
      const opened = await openWith(lab, {
        "memory/a.md": `${prose.repeat(3)}The plumber comes on Thursday. ${prose.repeat(3)}\n`,
        "memory/b.md": `${prose}\n`,
      });
      await assertFinds(opened, "plumber", "memory/a.md");
      await assertFinds(opened, "when does the plumber come", "memory/a.md");
    },
  },
  {
    name: "search: an identifier as written is found whatever minScore is",
    needs: ["keyword"],
    async run(lab) {
      const opened = await openWith(lab, {
        "memory/short.md": "Ticket QX-7919 is closed.\n",
        "memory/long.md": `${prose.repeat(8)}\nSee QX-7919 for the rest.\n${prose.repeat(8)}\n`,
        "memory/other.md": "Ticket QX-7918 is open.\n",
      });
      for (const minScore of [undefined, 0, 0.5, 0.99, 1]) {
        for (const query of ["QX-7919", "what became of ticket QX-7919?"]) {
          const { results } = await opened.ask(query, { minScore });
          for (const path of ["memory/short.md", "memory/long.md"])
            assert.ok(pathsOf(results).includes(path), `"${query}" with minScore ${minScore} did not find ${path}`);
        }
      }
    },
  },
  {
    name: "search: a text that holds every word of the query is found whatever minScore is",
    needs: ["keyword"],
    async run(lab) {
      const opened = await openWith(lab, {
        "memory/a.md": `${prose.repeat(6)}\nThe saffron harvest was bad. ${prose.repeat(6)}\n`,
        "memory/b.md": `Saffron harvest. Saffron harvest.\n`,
      });
      const { results } = await opened.ask("saffron harvest", { minScore: 1 });
      assert.deepEqual(pathsOf(results).toSorted(), ["memory/a.md", "memory/b.md"]);
    },
  },
  {
    name: "search: identifiers of many shapes are found as they are written",
    needs: ["keyword"],
    async run(lab) {
      const identifiers = [
        "INV-2291",
        "v2.14.3",
        "node_exporter",
        "src/agents/router.ts",
        "ops@example.org",
        "fetchUserProfile",
        "192.168.7.41",
        "#4821",
        "2026-08-14",
        "E0499",
        "DB_POOL_SIZE",
        "c0ffee1",
        "AS/400",
        "C++",
      ];
      const files = Object.fromEntries(
        identifiers.map((identifier, index) => [
          `memory/${index}.md`,
          `${prose}\nNoted: ${identifier} matters here.\n${prose}\n`,
        ]),
      );
      const opened = await openWith(lab, files);
      for (const [index, identifier] of identifiers.entries()) {
        const { results } = await opened.ask(identifier);
        assert.equal(
          results[0]?.path,
          `memory/${index}.md`,
          `"${identifier}" found ${JSON.stringify(pathsOf(results))}`,
        );
      }
    },
  },
  {
    name: "search: Chinese text is found by two characters",
    needs: ["keyword"],
    async run(lab) {
      const opened = await openWith(lab, {
        "memory/健康.md": "# 健康\n\n周三下午三点去仁济医院复查膝盖，主治医师是林晓。\n",
        "memory/家庭.md": "# 家庭\n\n女儿的钢琴课改到周六上午，老师姓赵。\n",
        "memory/english.md": `${prose}\n`,
      });
      for (const [query, path] of [
        ["膝盖", "memory/健康.md"],
        ["林晓", "memory/健康.md"],
        ["钢琴", "memory/家庭.md"],
        ["老师", "memory/家庭.md"],
        ["钢琴课改到哪天了？", "memory/家庭.md"],
      ] as const) {
        const { results } = await opened.ask(query);
        assert.equal(results[0]?.path, path, `"${query}" found ${JSON.stringify(pathsOf(results))}`);
        assert.ok(results[0].snippet.includes(query.slice(0, 2)), results[0].snippet);
      }
    },
  },
  {
    name: "search: Japanese and Korean are found inside a sentence",
    needs: ["keyword"],
    async run(lab) {
      const opened = await openWith(lab, {
        "memory/ja.md": "来週の会議は大阪で行います。\n",
        "memory/ko.md": "서울에서 열린 회의에 참석했다.\n",
        "memory/en.md": `${prose}\n`,
      });
      await assertFinds(opened, "大阪", "memory/ja.md");
      await assertFinds(opened, "会議", "memory/ja.md");
      await assertFinds(opened, "서울", "memory/ko.md");
    },
  },
  {
    name: "search: capitals and Unicode form make no difference",
    needs: ["keyword"],
    async run(lab) {
      const opened = await openWith(lab, {
        "memory/a.md": `Dinner at Café Solène, with KATHARINA.\n`,
        "memory/b.md": `${prose}\n`,
      });
      for (const query of ["katharina", "KATHARINA", "Solène".normalize("NFD"), "solène"])
        await assertFinds(opened, query, "memory/a.md");
    },
  },
];
