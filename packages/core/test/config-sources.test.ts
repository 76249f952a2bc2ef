import { describe, expect, test } from "vitest";
import { type MemslotConfig, parseConfig } from "@memslot/core";
import { failure } from "./support/config-home.ts";

function parse(config: Record<string, unknown>): MemslotConfig {
  return parseConfig(config, { baseDir: "/base", stateDir: "/state", env: { HOME: "/home/u" } });
}

const inDefaults = (memorySearch: object): Record<string, unknown> => ({ agents: { defaults: { memorySearch } } });
const inAgent = (memorySearch: object, defaults: object = {}): Record<string, unknown> => ({
  agents: { defaults: { memorySearch: defaults }, list: [{ id: "work", memorySearch }] },
});
/** Those that were named: the journal comes by itself. */
const sourcesOf = (config: MemslotConfig, id = "main"): readonly string[] =>
  config.agent(id).memorySearch.sources.filter((source) => source !== "journal");

describe("transcripts", () => {
  test("are indexed where sources name them, with no other switch", () => {
    const config = parse(inDefaults({ sources: ["memory", "sessions"] }));
    expect(sourcesOf(config)).toEqual(["memory", "sessions"]);
    expect(config.notices).toEqual([]);
  });

  test.each([
    ["memory.search", { memory: { search: { sources: ["sessions"] } } }, "main"],
    ["agents.list", inAgent({ sources: ["sessions"] }), "work"],
    ["agents.entries", { agents: { entries: { work: { memory: { search: { sources: ["sessions"] } } } } } }, "work"],
  ])("are named in every spelling of the key: %s", (_spelling, content, id) => {
    const config = parse(content);
    expect(sourcesOf(config, id)).toEqual(["sessions"]);
    expect(config.notices).toEqual([]);
  });

  test("are named by one agent and not by the others", () => {
    const config = parse(inAgent({ sources: ["memory", "sessions"] }));
    expect([sourcesOf(config, "work"), sourcesOf(config, "other")]).toEqual([["memory", "sessions"], ["memory"]]);
  });

  test.each([
    ["agents.defaults.memorySearch", inDefaults({ experimental: { sessionMemory: true } })],
    ["agents.list[work].memorySearch", inAgent({ experimental: { sessionMemory: true } })],
  ])("that the other switch alone asks for are not, and a notice says so: %s", (written, content) => {
    const config = parse(content);
    expect(config.agents.map(({ id }) => sourcesOf(config, id))).toEqual([["memory"]]);
    expect(config.notices).toEqual([
      `the given configuration: ${written}.experimental.sessionMemory has no effect by itself; to index transcripts, name "sessions" in memorySearch.sources`,
    ]);
  });

  test("with both switches give no notice, also where they stand in two places", () => {
    const both = { sources: ["memory", "sessions"], experimental: { sessionMemory: true } };
    expect(parse(inDefaults(both)).notices).toEqual([]);
    const apart = inAgent({ experimental: { sessionMemory: true } }, { sources: ["sessions"] });
    expect(parse(apart).notices).toEqual([]);
  });
});

describe("the journal of the flush", () => {
  const off = { compaction: { memoryFlush: { enabled: false } } };
  const all = (content: Record<string, unknown>): readonly string[] =>
    parse(content).agent("main").memorySearch.sources;

  test("is a source wherever there is a flush, whatever is named", () => {
    expect(all({})).toEqual(["memory", "journal"]);
    expect(all(inDefaults({ sources: ["sessions"] }))).toEqual(["sessions", "journal"]);
    expect(all(inDefaults({ sources: ["journal", "memory"] }))).toEqual(["journal", "memory"]);
    expect(parse(inDefaults({ sources: ["journal"] })).notices).toEqual([]);
  });

  test("is none where there is no flush, unless it is named", () => {
    expect(all({ agents: { defaults: off } })).toEqual(["memory"]);
    expect(all({ agents: { defaults: { ...off, memorySearch: { sources: ["memory", "journal"] } } } })).toEqual([
      "memory",
      "journal",
    ]);
  });
});

describe("sources", () => {
  test.each([
    ["Sessions", '; did you mean "sessions"?'],
    ["memry", '; did you mean "memory"?'],
    ["mail", ""],
  ])("with the unknown name %s are kept, with a notice", (name, hint) => {
    const config = parse(inDefaults({ sources: ["memory", name] }));
    expect(sourcesOf(config)).toEqual(["memory", name]);
    expect(config.notices).toEqual([
      `the given configuration: agents.defaults.memorySearch.sources names "${name}", which is none of the sources here (memory, sessions, journal, claude-code, codex, gemini, opencode, cursor), so only a memory plugin that knows it finds something there${hint}`,
    ]);
  });

  test("of an agent are looked at too", () => {
    expect(parse(inAgent({ sources: ["sesions"] })).notices).toEqual([
      expect.stringMatching(/^the given configuration: agents\.list\[work\]\.memorySearch\.sources names "sesions"/),
    ]);
  });

  test("count once each", () => {
    expect(sourcesOf(parse(inDefaults({ sources: ["sessions", "memory", "sessions"] })))).toEqual([
      "sessions",
      "memory",
    ]);
  });

  test.each([
    ["agents.defaults.memorySearch.sources", inDefaults({ sources: [] })],
    ["agents.list[work].memorySearch.sources", inAgent({ sources: [] })],
  ])("must not be empty: %s", async (written, content) => {
    expect(await failure("CONFIG", () => parse(content))).toBe(
      `the given configuration: ${written} must name a source, "memory" or "sessions"; to switch memory off, write enabled: false`,
    );
  });
});
