import assert from "node:assert/strict";
import { type StoreCheck, chunkOf, exactly, fileOf, textsWith } from "./lab.ts";

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

/** That a store keeps texts and terms as they are, whatever they are. */
export const textChecks: readonly StoreCheck[] = [
  {
    name: "texts: a long text comes back whole",
    needs: ["keyword"],
    async run({ store }) {
      const sizes = [8_192, 8_193, 65_536, 300_000];
      const texts = sizes.map((size) => `${"long lines of text go on, 文字 too. ".repeat(size / 20)}`.slice(0, size));
      await store.replaceFiles(
        texts.map((text, index) => ({
          ...fileOf(`${index}.md`, []),
          chunks: [{ ...chunkOf(`${text}end`), context: text.slice(0, 9000), terms: `size${index}` }],
        })),
      );
      for (const [index, text] of texts.entries()) {
        const { rows } = await store.searchKeyword({ terms: exactly(`size${index}`), sources: ["memory"], limit: 2 });
        const [row] = rows;
        assert.equal(row?.text.length, text.length + 3, `a text of ${text.length + 3} characters came back shorter`);
        assert.ok(row.text === `${text}end` && row.context === text.slice(0, 9000), "it came back changed");
      }
    },
  },
  {
    name: "texts: every one of many terms is found, and a long one as a whole",
    needs: ["keyword"],
    async run({ store }) {
      const many = Array.from({ length: 5000 }, (_, index) => `term${index.toString(36)}`);
      const long = "x".repeat(1000);
      await store.replaceFiles([
        { ...fileOf("many.md", []), chunks: [{ ...chunkOf("many"), terms: many.join(" ") }] },
        { ...fileOf("long.md", []), chunks: [{ ...chunkOf("long"), terms: `${long}y other` }] },
        { ...fileOf("like.md", []), chunks: [{ ...chunkOf("like"), terms: `${long}z other` }] },
      ]);
      for (const index of [0, 999, 1000, 2048, 4095, 4096, 4999])
        assert.deepEqual(await textsWith(store, many[index] ?? ""), ["many"], `the term number ${index}`);
      assert.deepEqual(await textsWith(store, `${long}y`), ["long"]);
      const answer = await store.searchKeyword({
        terms: exactly(...many.slice(0, 400)),
        sources: ["memory"],
        limit: 3,
      });
      assert.deepEqual(
        answer.documentFrequencies,
        Array.from({ length: 400 }, () => 1),
        "the frequencies of a question with 400 terms",
      );
    },
  },
  {
    name: "texts: no text is put into another form",
    needs: ["keyword"],
    async run({ store }) {
      const entries = Object.entries(oddTexts);
      await store.replaceFiles(
        entries.map(([name, text], index) => ({
          ...fileOf(`${index} ${text.toWellFormed().replaceAll(/[\0\r\n/]/g, " ")}.md`, []),
          chunks: [{ ...chunkOf(text), context: `${name}: ${text}`, terms: `odd${index}` }],
        })),
      );
      for (const [index, [name, text]] of entries.entries()) {
        const { rows } = await store.searchKeyword({ terms: exactly(`odd${index}`), sources: ["memory"], limit: 2 });
        const { text: shown, context, path } = rows[0] ?? assert.fail(`the text with ${name} was not found`);
        // Half of a character is nothing that UTF-8 can write.
        assert.equal(shown.toWellFormed(), text.toWellFormed(), `the text with ${name}`);
        assert.equal(context.toWellFormed(), `${name}: ${text}`.toWellFormed(), `the context with ${name}`);
        assert.equal(path, `${index} ${text.toWellFormed().replaceAll(/[\0\r\n/]/g, " ")}.md`, `the path with ${name}`);
      }
    },
  },
];
