import { connect, type Table } from "@lancedb/lancedb";
import { Field, Schema, Utf8 } from "apache-arrow";
import { tempFolder } from "@memslot/test-tools/files";
import { hostileStrings } from "@memslot/testkit";
import { expect, onTestFinished, test } from "vitest";
import { tableOf } from "./rows.ts";
import { allOf, anyOf, atLeast, equals, holds, not, oneOf } from "./filter.ts";

const long = `it's ${"x'\\%_ ".repeat(2000)}`;
const own = "\u{feff}|\u{feff}\u{feff}a|/* */|/*|?|$1|:name|{fn}|0|TRUE|'' OR ''=''".split("|");

/** Texts that the store keeps apart: half a character is kept as the sign for a broken one. */
const texts = [...new Set([...own, long, ...hostileStrings(80, 11)].map((text) => text.toWellFormed()))];

async function tableWith(values: readonly string[]): Promise<Table> {
  const connection = await connect(tempFolder());
  onTestFinished(() => connection.close());
  const schema = new Schema([new Field("value", new Utf8(), true), new Field("other", new Utf8(), true)]);
  const table = await connection.createEmptyTable("texts", schema);
  const rows = values.map((value) => ({ value, other: "same" }));
  await table.add(tableOf({ value: "text", other: "text" }, rows));
  return table;
}

test("a filter finds the very text that it was made of, and nothing else", async () => {
  const table = await tableWith(texts);
  for (const text of texts) {
    const filter = allOf(equals("other", "same"), equals("value", text), oneOf("value", [text]));
    const rows = (await table.query().where(filter).select(["value"]).toArray()) as { value: string }[];
    expect(rows.map(({ value }) => value)).toEqual([text]);
  }
  expect(await table.countRows(oneOf("value", texts))).toBe(texts.length);
  expect(await table.countRows(not(oneOf("value", texts.slice(1))))).toBe(1);
  expect(await table.countRows(oneOf("value", []))).toBe(0);
  expect(await table.countRows(anyOf())).toBe(0);
  expect(await table.countRows(allOf())).toBe(texts.length);
});

test("a part of a text is found as it stands, whatever it means elsewhere", async () => {
  const table = await tableWith(texts);
  for (const part of ["'", "''", "\\", "%", "_", '"', "\0", "--", "DROP", "🙂", "中", "(?:", "[a-z]+"]) {
    const expected = texts.filter((text) => text.includes(part)).length;
    expect([part, await table.countRows(holds("value", part))]).toEqual([part, expected]);
  }
});

test("deleting by a filter takes the one row along and leaves the others", async () => {
  const some = texts.filter((text, index) => index % 4 === 0 || text.includes("'"));
  const table = await tableWith(some);
  let left = some.length;
  for (const text of some) {
    const { numDeletedRows } = await table.delete(equals("value", text));
    expect([text, numDeletedRows, await table.countRows()]).toEqual([text, 1, --left]);
  }
});

test("half a character is looked up as it is stored", async () => {
  const table = await tableWith(["a\ud800b"]);
  expect(await table.countRows(equals("value", "a\ud800b"))).toBe(1);
});

test("what is no value is refused before it becomes SQL", () => {
  expect(() => atLeast("start_line", Number.NaN)).toThrow(RangeError);
  expect(() => equals("id", Number.POSITIVE_INFINITY)).toThrow(RangeError);
  expect(() => equals("value = 'x' OR other", "x")).toThrow(/not the name of a column/);
});
