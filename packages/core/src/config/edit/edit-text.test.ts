import json5 from "json5";
import { describe, expect, test } from "vitest";
import { type ConfigEdit, editConfigText } from "./edit-text.ts";
import { randomConfigText } from "./test/random-json5.ts";

const slot: ConfigEdit = { key: ["plugins", "slots", "memory"], value: "memory-mine" };

describe("editConfigText", () => {
  test.each([
    ["{}", '{ plugins: { slots: { memory: "memory-mine" } } }'],
    ["{ }\n", '{ plugins: { slots: { memory: "memory-mine" } } }\n'],
    ["{ a: 1 }", '{ a: 1, plugins: { slots: { memory: "memory-mine" } } }'],
    ["{a:1,}", '{a:1, plugins: { slots: { memory: "memory-mine" } }}'],
    ["{ plugins: { slots: { memory: 'none' } } }", "{ plugins: { slots: { memory: 'memory-mine' } } }"],
    [
      `{ plugins: { "slots": { "memory" : "none" /* off */ } } }`,
      `{ plugins: { "slots": { "memory" : "memory-mine" /* off */ } } }`,
    ],
    [
      "{\n\tplugins: {\n\t\tdeny: [],\n\t},\n}\n",
      '{\n\tplugins: {\n\t\tdeny: [],\n\t\tslots: {\n\t\t\tmemory: "memory-mine",\n\t\t},\n\t},\n}\n',
    ],
    [
      "{\r\n    a: 1 // one\r\n    // the end\r\n}",
      '{\r\n    a: 1, // one\r\n    // the end\r\n    plugins: {\r\n        slots: {\r\n            memory: "memory-mine",\r\n        },\r\n    },\r\n}',
    ],
    [
      "{ plugins: { slots: { memory: 'a' } }, plugins: {} }",
      "{ plugins: { slots: { memory: 'a' } }, plugins: { slots: { memory: \"memory-mine\" } } }",
    ],
    [
      "{ 'plug\\u0069ns': { slots: { m\\u0065mory: 'a' } } }",
      "{ 'plug\\u0069ns': { slots: { m\\u0065mory: 'memory-mine' } } }",
    ],
  ])("%j becomes %j", async (text, wanted) => {
    expect(await editConfigText(text, [slot])).toBe(wanted);
  });

  test.each([
    ["{}", '{ plugins: { deny: ["x"] } }'],
    ["{ plugins: { deny: [] } }", '{ plugins: { deny: ["x"] } }'],
    ["{ plugins: { deny: ['a'] } }", "{ plugins: { deny: ['a', \"x\"] } }"],
    ["{ plugins: { deny: ['a',] } }", "{ plugins: { deny: ['a', \"x\",] } }"],
    ["{ plugins: { deny: ['x'] } }", "{ plugins: { deny: ['x'] } }"],
    ["{ deny: 1, plugins: { deny: [ { path: 'x' } ] } }", "{ deny: 1, plugins: { deny: [ { path: 'x' }, \"x\" ] } }"],
    [
      "{ plugins: { deny: [\r\n  'a', // kept\r\n  'b', // so\r\n] } }",
      "{ plugins: { deny: [\r\n  'a', // kept\r\n  'b', // so\r\n  \"x\",\r\n] } }",
    ],
    ["{ plugins: { deny: [\n  'a' // why\n] } }", "{ plugins: { deny: [\n  'a', // why\n  \"x\"\n] } }"],
    ["{ plugins: { deny: [ // none\n] } }", '{ plugins: { deny: ["x" // none\n] } }'],
  ])("puts an item into the list of %j", async (text, wanted) => {
    expect(await editConfigText(text, [{ key: ["plugins", "deny"], with: "x" }])).toBe(wanted);
  });

  test("puts no item into what is no list", async () => {
    await expect(editConfigText("{ plugins: { deny: 1 } }", [{ key: ["plugins", "deny"], with: "x" }])).rejects.toThrow(
      "plugins.deny is no list",
    );
  });

  test.each([
    ['{ plugins: { deny: ["a", "x", "b"] } }', '{ plugins: { deny: ["a", "b"] } }'],
    ['{ plugins: { deny: ["a", "x"] } }', '{ plugins: { deny: ["a"] } }'],
    ['{ plugins: { deny: ["x"] } }', "{ plugins: { deny: [] } }"],
    ["{ plugins: { deny: ['x', \"x\",] } }", "{ plugins: { deny: [] } }"],
    [
      "{ plugins: { deny: [\n  'a', // kept\n  'x',\n  'b',\n] } }",
      "{ plugins: { deny: [\n  'a', // kept\n  'b',\n] } }",
    ],
    ["{ plugins: { deny: [\n  'a',\n  'x' // why\n] } }", "{ plugins: { deny: [\n  'a'\n   // why\n] } }"],
    ["{ plugins: {} }", "{ plugins: {} }"],
  ])("takes an item out of %j", async (text, wanted) => {
    expect(await editConfigText(text, [{ key: ["plugins", "deny"], without: "x" }])).toBe(wanted);
  });

  test("refuses what is no group, and text that it cannot read", async () => {
    await expect(editConfigText("{ plugins: 1 }", [slot])).rejects.toThrow("plugins");
    await expect(editConfigText("[]", [slot])).rejects.toThrow("no group");
    await expect(editConfigText("{ plugins: {", [slot])).rejects.toThrow("JSON5");
  });

  test("changes what it is to change and no other byte, whatever the file looks like", async () => {
    for (let seed = 1; seed <= 1500; seed++) {
      const text = randomConfigText(seed);
      const before = json5.parse<Record<string, unknown>>(text);
      const edited = await editConfigText(text, [slot]);
      const { plugins, ...others } = json5.parse<{ plugins: { slots: { memory: string } } }>(edited);
      expect(plugins.slots.memory, text).toBe("memory-mine");
      const { plugins: _plugins, ...othersBefore } = before;
      expect(others, text).toEqual(othersBefore);
      // What was there is still there, in its order: only a value was replaced, or something was put in between.
      expect(isKept(text, edited, slotValueIn(text)), `${text}\n=>\n${edited}`).toBe(true);
      expect(await editConfigText(edited, [slot])).toBe(edited);
    }
  });
});

/** The place of the value that is replaced; undefined where it is new. */
function slotValueIn(text: string): [number, number] | undefined {
  const marked = /SLOT_VALUE_\d+/.exec(text);
  return marked === null ? undefined : [marked.index, marked.index + marked[0].length];
}

/** True where `edited` is `text` with things put in between, but for the value that is replaced. */
function isKept(text: string, edited: string, replaced: [number, number] | undefined): boolean {
  if (replaced !== undefined) {
    const quoted: [number, number] = [replaced[0] - 1, replaced[1] + 1];
    const [head, tail] = [text.slice(0, quoted[0]), text.slice(quoted[1])];
    return (
      edited.startsWith(head) &&
      edited.endsWith(tail) &&
      /^["']memory-mine["']$/.test(edited.slice(head.length, edited.length - tail.length))
    );
  }
  let at = 0;
  for (let index = 0; index < edited.length; index++) if (edited[index] === text[at]) at += 1;
  const inserted = edited.length - text.length;
  return at === text.length && inserted > 0 && inserted < 200;
}
