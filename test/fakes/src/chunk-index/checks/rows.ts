import assert from "node:assert/strict";
import { type IndexCheck, byNumber, chunkOf, embedAll, exactly, fileOf, one } from "../lab.ts";

const oddTexts: Readonly<Record<string, string>> = {
  "decomposed accents": "cafe\u0301 and Zu\u0308rich",
  "composed accents": "caf\u00e9 and Z\u00fcrich",
  "a NUL": "before\0after",
  "half of a character": "left \ud83d right",
  "line ends of every kind": "one\r\ntwo\rthree\u2028four\u0085five\n",
  "blanks at both ends": "  \t two blanks before and three after   ",
  "a byte order mark": "\ufeffbegins with a mark",
  "compatibility forms": "\ufb01ne \uff21\uff22\uff23 \u00bd \u212b",
  "what nobody sees": "zero\u200bwidth \u200e\u202eright to left\u202c soft\u00adhyphen",
  "emoji and a script of another plane": "\u{1f469}\u200d\u{1f4bb} \u{1d518}\u{1d52b}\u{20000}",
};

/** What an index gives back of what it was given. */
export const rowChecks: readonly IndexCheck[] = [
  {
    name: "keyword: a row carries its chunk as it was given",
    async run({ index }) {
      const chunk = { ...chunkOf("two lines\nof 文字 🙂", 7), context: "Heading > Part", terms: "banana" };
      await index.replaceFiles([{ ...fileOf("memory/a.md", []), chunks: [chunk] }]);
      const { rows } = await index.searchKeyword({ terms: exactly("banana"), sources: ["memory"], limit: 5 });
      assert.equal(rows.length, 1);
      const { id: _id, score, noteBytes: _bytes, ...row } = rows[0] ?? assert.fail();
      assert.deepEqual(row, {
        path: "memory/a.md",
        source: "memory",
        startLine: 7,
        endLine: 8,
        text: chunk.text,
        context: chunk.context,
      });
      assert.ok(score > 0, "a score is positive");
    },
  },
  {
    name: "vector: a row carries its chunk as it was given",
    async run({ index }) {
      await index.replaceFiles([fileOf("memory/a.md", ["1"]), fileOf("memory/b.md", ["2"])]);
      await index.useSpace(one);
      await embedAll(index, one, byNumber);
      await index.removeFiles([{ path: "memory/b.md", source: "memory" }]);
      const { rows } = await index.searchVector({ space: one, vector: byNumber("2"), sources: ["memory"], limit: 5 });
      assert.equal(rows.length, 1);
      const { id: _id, score: _score, noteBytes: _bytes, ...row } = rows[0] ?? assert.fail();
      assert.deepEqual(row, {
        path: "memory/a.md",
        source: "memory",
        startLine: 1,
        endLine: 1,
        text: "1",
        context: "",
      });
    },
  },
  {
    name: "files: the chunks of what is asked for are listed in their order, with their texts or without",
    async run({ index }) {
      const tagged = { ...chunkOf("second", 9), context: "Heading > Part\n#tag" };
      await index.replaceFiles([
        { ...fileOf("memory/b.md", []), chunks: [chunkOf("first", 1), tagged] },
        fileOf("memory/a.md", ["of a"]),
        fileOf("memory/left/c.md", ["of c"]),
        { ...fileOf("memory/a.md", ["of another source"]), source: "sessions" },
      ]);
      const scope = { within: ["memory/"], without: ["memory/left/"] };
      const listed = await index.listChunks({ sources: ["memory"], scope, withText: true });
      assert.deepEqual(
        listed.map(({ path, source, startLine, endLine, text, context }) => [
          path,
          source,
          startLine,
          endLine,
          text,
          context,
        ]),
        [
          ["memory/a.md", "memory", 1, 1, "of a", ""],
          ["memory/b.md", "memory", 1, 1, "first", ""],
          ["memory/b.md", "memory", 9, 9, "second", tagged.context],
        ],
      );
      const bare = await index.listChunks({ sources: ["memory"], scope, withText: false });
      assert.deepEqual(
        bare,
        listed.map((row) => ({ ...row, text: "" })),
      );
      const all = await index.listChunks({ sources: ["memory", "sessions"], withText: true });
      assert.deepEqual(
        all.map(({ text }) => text),
        ["of a", "of another source", "first", "second", "of c"],
      );
      const { rows } = await index.searchKeyword({ terms: exactly("second"), sources: ["memory"], limit: 5 });
      assert.equal(rows[0]?.id, listed[2]?.id, "the id is that of a search");
    },
  },
  {
    name: "files: each chunk has an id of its own, also two of one text",
    async run({ index }) {
      await index.replaceFiles([fileOf("a.md", ["the same text", "the same text"]), fileOf("b.md", ["the same text"])]);
      const { rows } = await index.searchKeyword({ terms: exactly("same"), sources: ["memory"], limit: 10 });
      const places = rows.map((row) => `${row.path}:${row.startLine}`).toSorted();
      assert.deepEqual(places, ["a.md:1", "a.md:11", "b.md:1"]);
      assert.equal(new Set(rows.map((row) => row.id)).size, 3, "each chunk has an id of its own");
    },
  },
  {
    name: "texts: a long text comes back whole",
    async run({ index }) {
      const sizes = [8_192, 8_193, 65_536, 300_000];
      const texts = sizes.map((size) => `${"long lines of text go on, 文字 too. ".repeat(size / 20)}`.slice(0, size));
      await index.replaceFiles(
        texts.map((text, at) => ({
          ...fileOf(`${at}.md`, []),
          chunks: [{ ...chunkOf(`${text}end`), context: text.slice(0, 9000), terms: `size${at}` }],
        })),
      );
      for (const [at, text] of texts.entries()) {
        const { rows } = await index.searchKeyword({ terms: exactly(`size${at}`), sources: ["memory"], limit: 2 });
        const [row] = rows;
        assert.equal(row?.text.length, text.length + 3, `a text of ${text.length + 3} characters came back shorter`);
        assert.ok(row.text === `${text}end` && row.context === text.slice(0, 9000), "it came back changed");
      }
    },
  },
  {
    name: "texts: no text is put into another form",
    async run({ index }) {
      const entries = Object.entries(oddTexts);
      await index.replaceFiles(
        entries.map(([name, text], at) => ({
          ...fileOf(`${at} ${text.toWellFormed().replaceAll(/[\0\r\n/]/g, " ")}.md`, []),
          chunks: [{ ...chunkOf(text), context: `${name}: ${text}`, terms: `odd${at}` }],
        })),
      );
      for (const [at, [name, text]] of entries.entries()) {
        const { rows } = await index.searchKeyword({ terms: exactly(`odd${at}`), sources: ["memory"], limit: 2 });
        const { text: shown, context, path } = rows[0] ?? assert.fail(`the text with ${name} was not found`);
        // Half of a character is nothing that UTF-8 can write.
        assert.equal(shown.toWellFormed(), text.toWellFormed(), `the text with ${name}`);
        assert.equal(context.toWellFormed(), `${name}: ${text}`.toWellFormed(), `the context with ${name}`);
        assert.equal(path, `${at} ${text.toWellFormed().replaceAll(/[\0\r\n/]/g, " ")}.md`, `the path with ${name}`);
      }
    },
  },
];
