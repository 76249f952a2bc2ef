import { readFileSync, readdirSync } from "node:fs";
import path from "node:path";
import { expect, test } from "vitest";
import { createPlace, ended, startDemo } from "../test/run-demo.ts";
import { journalOf, notesOf, transcriptOf } from "./test/agent-place.ts";
import { type ChatBody, type ChatReply, calls, says, startFakeChatServer } from "@memslot/fakes/chat";

const kills = 30;
const factOf = (index: number): string => `fact ${String(index).padStart(3, "0")}`;
const lines = Array.from({ length: 90 }, (_, index) =>
  `${factOf(index)}: ${"so it was, and so it stays. ".repeat(24)}`.trim(),
);

type Kind = "answer" | "flush" | "summary";

/** Of ten kills eight fall into answers, one into a flush and one into a summary; each step of each has its turn. */
function planOf(count: number): { kind: Kind; steps: number } {
  const steps = 1 + (Math.floor(count / 10) % 3);
  if (count % 10 === 8) return { kind: "flush", steps };
  return count % 10 === 9 ? { kind: "summary", steps } : { kind: "answer", steps: 1 + (count % 5) };
}

/** What the model says: `ok` to each line, a note for each fact of a flush, and a summary. */
function replyTo({ messages, tools = [] }: ChatBody): ChatReply {
  const last = messages.at(-1);
  const isFlush = tools.length > 0 && !tools.some((tool) => tool.function.name === "memory_get");
  if (!isFlush) return says(tools.length === 0 ? "A summary." : `ok ${last?.content?.slice(0, 8)}`);
  if (last?.role !== "user") return says("NO_REPLY");
  const facts = messages
    .slice(0, -1)
    .flatMap(({ role, content }) => (role === "user" ? [content?.slice(0, 8) ?? ""] : []));
  return calls(
    ...facts.map((fact) => ({
      name: "memory_append",
      arguments: JSON.stringify({ text: `${fact} was said`, kind: "daily" }),
    })),
  );
}

test.skipIf(process.platform === "win32")(
  `a conversation that is killed ${kills} times, with flushes and compactions, loses and doubles nothing`,
  { timeout: 600_000 },
  async () => {
    const compaction = { reserveTokensFloor: 600, memoryFlush: { softThresholdTokens: 600 } };
    const memorySearch = { provider: "none", sync: { watch: false } };
    const place = createPlace({
      "notes/memory/.keep": "",
      "config.json5": { agents: { defaults: { compaction, memorySearch } } },
    });
    const notesDir = path.join(place.rootDir, "notes");
    const stateDir = path.join(place.homeDir, ".memslot");
    /** Kills the process of the moment after so many steps of such requests: arrived, half answered, answered. */
    let plan: { kind: Kind; steps: number } | undefined;
    let kill = (): void => undefined;
    const fell = { flush: 0, summary: 0, answer: 0 };
    const step = (kind: Kind): void => {
      if (plan?.kind !== kind) return;
      plan.steps -= 1;
      if (plan.steps !== 0) return;
      fell[kind] += 1;
      kill();
    };
    const server = await startFakeChatServer(({ body }) => {
      const reply = replyTo(body);
      const names = body.tools?.map((tool) => tool.function.name) ?? [];
      const kind = names.length === 0 ? "summary" : names.includes("memory_get") ? "answer" : "flush";
      step(kind);
      if (reply === "hang" || !("pieces" in reply)) return reply;
      const pieces = [...(reply.pieces as Iterable<string>)];
      return {
        pieces: (function* () {
          yield* pieces.slice(0, pieces.length / 2);
          step(kind);
          yield* pieces.slice(pieces.length / 2);
          step(kind);
        })(),
      };
    });
    try {
      const env = {
        MEMSLOT_CONFIG: path.join(place.rootDir, "config.json5"),
        OPENAI_BASE_URL: server.baseUrl,
        MEMSLOT_CONTEXT_TOKENS: "4000",
      };
      const run = async (more: readonly string[] = []): Promise<{ exitCode: number | null; stderr: string }> => {
        const said = await transcriptOf(stateDir).catch(() => []);
        const done = said.filter((line) => line.startsWith("assistant: ok")).length;
        const child = startDemo(place, ["--workspace", "notes"], env);
        kill = () => void child.kill("SIGKILL");
        const result = ended(child);
        child.stdin.end([...lines.slice(done), ...more].map((line) => `${line}\n`).join(""));
        return await result;
      };
      for (let count = 0; count < kills; count += 1) {
        plan = planOf(count);
        const { exitCode, stderr } = await run();
        expect({ exitCode, stderr }).toMatchObject({ exitCode: null });
      }
      plan = undefined;
      const { exitCode, stderr } = await run(["/flush"]);
      expect({ exitCode, stderr }).toMatchObject({ exitCode: 0 });

      const said = await transcriptOf(stateDir);
      expect(said).toEqual(lines.flatMap((line, index) => [`user: ${line}`, `assistant: ok ${factOf(index)}`]));
      const notes = await notesOf(notesDir);
      const counts = lines.map((_, index) => notes.split(`${factOf(index)} was said`).length - 1);
      expect(counts).toEqual(lines.map(() => 1));
      expect(notes).not.toContain("NO_REPLY");
      expect(await journalOf(stateDir)).toEqual([]);
      expect(fell).toEqual({ answer: 24, flush: 3, summary: 3 });
      const folder = path.join(stateDir, "agents", "main", "sessions");
      const sessions = readFileSync(path.join(folder, "sessions.json"), "utf8");
      expect(sessions).toContain("agent:main:main");
      expect(readdirSync(folder).filter((name) => name.endsWith(".jsonl"))).toHaveLength(1);
    } finally {
      kill();
      await server.close();
    }
  },
);
