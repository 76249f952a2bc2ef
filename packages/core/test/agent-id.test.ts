import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, describe, expect, test } from "vitest";
import { type MemoryError, defineMemoryPlugin, openMemory, parseConfig } from "@memslot/core";
import { agentIdProblem, agentsWithState, checkAgentPlace } from "@memslot/core/host";
import { type ConfigHome, createConfigHome } from "./support/config-home.ts";
import { fakeManager } from "./support/fakes.ts";

let computer: ConfigHome;

beforeEach(() => {
  computer = createConfigHome();
});

const core = defineMemoryPlugin({ id: "memory-core", open: async () => fakeManager() });

async function open(agentId: string, content: Record<string, unknown> = {}): Promise<string> {
  const config = parseConfig(content, { stateDir: computer.stateDir, baseDir: computer.project, env: computer.env });
  try {
    const memory = await openMemory({ config, agentId, workspaceDir: computer.project, plugins: [core] });
    await memory.close();
    return "opened";
  } catch (error) {
    return (error as MemoryError).code;
  }
}

describe("an agent id", () => {
  test.each(["CON", "con", "Prn", "aux.x", "NUL", "com1", "COM9.log", "lpt3", "work.", "work..", "..."])(
    "that is no name of a file on every system is refused: %s",
    async (id) => {
      expect(agentIdProblem(id)).toBeDefined();
      expect(await open(id)).toBe("INVALID_ARGUMENT");
      expect(() => checkAgentPlace({ stateDir: computer.stateDir, agentId: id })).toThrow("agent id: ");
    },
  );

  test.each(["main", "Work", "console", "com", "com10", "a.con", "v1.2", "_", "-x"])(
    "that is one is taken: %s",
    (id) => {
      expect(agentIdProblem(id)).toBeUndefined();
    },
  );

  test("that differs from a listed one by case alone is refused, also from the one that needs no list", async () => {
    const list = { agents: { list: [{ id: "Work" }] } };
    expect(await open("Main")).toBe("INVALID_ARGUMENT");
    expect([await open("work", list), await open("Work", list)]).toEqual(["INVALID_ARGUMENT", "opened"]);
  });

  test.each(["agents/Anna/sessions", "memory/Anna.sqlite", "memory/Anna-0123abcd.sqlite"])(
    "that differs by case alone from one that has %s is refused",
    async (place) => {
      mkdirSync(join(computer.stateDir, place), { recursive: true });
      expect(agentsWithState(computer.stateDir)).toEqual(["Anna"]);
      expect([await open("anna"), await open("Anna"), await open("ann")]).toEqual([
        "INVALID_ARGUMENT",
        "opened",
        "opened",
      ]);
      // Who is listed has said so.
      expect(await open("anna", { agents: { list: [{ id: "anna" }] } })).toBe("opened");
    },
  );
});
