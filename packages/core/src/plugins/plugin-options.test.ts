import { describe, expect, test } from "vitest";
import { pluginOptions } from "./plugin-options.ts";
import { config } from "../../test/support/fakes.ts";

const schema = {
  type: "object",
  properties: {
    table: { type: "string", default: "notes" },
    limits: { type: "object", properties: { "a/b": { type: "integer", minimum: 1 } }, required: ["a/b"] },
    mode: { enum: ["fast", "exact"] },
    list: { type: "array", items: { type: "string" } },
    every: { type: "string", pattern: "^\\d+m$", examples: ["5m", "90m"] },
    odd: { type: "string", pattern: "^\\d+m$" },
  },
  additionalProperties: false,
};

async function options(
  entry: Record<string, unknown> | undefined,
  configSchema: Record<string, unknown> = schema,
): Promise<Readonly<Record<string, unknown>>> {
  const { plugins } = config(entry === undefined ? {} : { plugins: { entries: { one: { config: entry } } } });
  return pluginOptions({ id: "one", place: "/plugins/one", configSchema }, plugins);
}

describe("the options of a plugin", () => {
  test("are plugins.entries.<id>.config with the defaults of the schema", async () => {
    await expect(options({ mode: "fast" })).resolves.toEqual({ mode: "fast", table: "notes" });
  });

  test("get defaults also when nothing is configured", async () => {
    await expect(options(undefined)).resolves.toEqual({ table: "notes" });
  });

  test("are a copy: the configuration stays as it was", async () => {
    const { plugins } = config({ plugins: { entries: { one: { config: { limits: { "a/b": 2 } } } } } });
    const given = await pluginOptions({ id: "one", place: "/plugins/one", configSchema: schema }, plugins);
    expect(plugins.entries["one"]?.config).toEqual({ limits: { "a/b": 2 } });
    expect(given).toEqual({ limits: { "a/b": 2 }, table: "notes" });
  });

  test("are frozen all the way down", async () => {
    const given = await options({ list: ["a"] });
    expect(Object.isFrozen(given)).toBe(true);
    expect(Object.isFrozen(given["list"])).toBe(true);
  });

  test.each([
    ["a wrong type", { table: 5 }, "plugins.entries.one.config.table must be string"],
    ["a wrong type deeper down", { limits: { "a/b": "x" } }, "plugins.entries.one.config.limits.a/b must be integer"],
    ["a value out of range", { limits: { "a/b": 0 } }, "plugins.entries.one.config.limits.a/b must be >= 1"],
    ["a missing key", { limits: {} }, "plugins.entries.one.config.limits.a/b is missing"],
    [
      "an unknown key",
      { tabel: "x" },
      'plugins.entries.one.config.tabel is not a key of this plugin; did you mean "table"?',
    ],
    ["a value that is not allowed", { mode: "slow" }, 'plugins.entries.one.config.mode must be one of "fast", "exact"'],
    ["a value in another form", { every: "soon" }, 'plugins.entries.one.config.every must be written as "5m" or "90m"'],
    ["a form without an example", { odd: "soon" }, 'plugins.entries.one.config.odd must match pattern "^\\d+m$"'],
    ["a wrong item", { list: ["a", 1] }, "plugins.entries.one.config.list.1 must be string"],
    ["a long unknown key", { ["x".repeat(900_000)]: 1 }, '…" is not a key of this plugin'],
  ])("with %s are refused, naming the key", async (_name, entry, words) => {
    await expect(options(entry)).rejects.toMatchObject({ code: "CONFIG", message: expect.stringContaining(words) });
  });

  test("with several faults are refused with all of them", async () => {
    const error = await options({ table: 5, mode: "slow" }).catch((caught: unknown) => String(caught));
    expect(error).toContain("config.table");
    expect(error).toContain("config.mode");
  });

  test("are refused without showing a value, which may be a secret", async () => {
    const error = await options({ limits: "hunter2" }).catch((caught: unknown) => String(caught));
    expect(error).toContain("config.limits");
    expect(error).not.toContain("hunter2");
  });

  test("pass unchecked where the plugin has no schema", async () => {
    const { plugins } = config({ plugins: { entries: { one: { config: { anything: 1 } } } } });
    const plugin = { id: "one", place: "/plugins/one", configSchema: undefined };
    await expect(pluginOptions(plugin, plugins)).resolves.toEqual({ anything: 1 });
  });

  test.each([
    ["draft 7", "http://json-schema.org/draft-07/schema#"],
    ["draft 4", "http://json-schema.org/draft-04/schema#"],
    ["2019-09", "https://json-schema.org/draft/2019-09/schema"],
    ["2020-12", "https://json-schema.org/draft/2020-12/schema"],
  ])("are checked by a schema of %s", async (_name, $schema) => {
    await expect(options({ table: 5 }, { ...schema, $schema })).rejects.toMatchObject({ code: "CONFIG" });
    await expect(options({ table: "x" }, { ...schema, $schema })).resolves.toMatchObject({ table: "x" });
  });

  test("are checked by the rules of 2020-12 where the schema says so", async () => {
    const tuple = {
      $schema: "https://json-schema.org/draft/2020-12/schema",
      type: "object",
      properties: { pair: { type: "array", prefixItems: [{ type: "string" }] } },
    };
    await expect(options({ pair: [1] }, tuple)).rejects.toMatchObject({ code: "CONFIG" });
  });

  test("need a schema that can be used", async () => {
    await expect(options({ a: 1 }, { type: "nonsense" })).rejects.toMatchObject({
      code: "PLUGIN",
      message: expect.stringContaining('plugin "one" (/plugins/one): "configSchema"'),
    });
  });

  test("that are required cannot be left out altogether", async () => {
    await expect(options(undefined, { type: "object", required: ["key"] })).rejects.toMatchObject({
      code: "CONFIG",
      message: "plugins.entries.one.config.key is missing",
    });
  });

  test("of a schema with formats and words of its own are checked by the rest", async () => {
    await expect(
      options({ at: "x" }, { type: "object", uiHints: {}, properties: { at: { type: "string", format: "hour" } } }),
    ).resolves.toEqual({ at: "x" });
  });
});
