import { spawn } from "node:child_process";
import { once } from "node:events";
import { appendFileSync, existsSync, readdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { memslot, withNotes } from "./support/contestants.ts";
import { accessCode } from "./support/corpus.ts";
import { type Usage, measure } from "./support/measure.ts";
import { median, printTable } from "./support/table.ts";

const rounds = 15;
const answered = "prompt that is answered";
const besideServer = ", beside memslot mcp";
/** Wall time of one hook, on this many notes: what a person does not notice. */
const aimMs = 300;
/** Processor time of a prompt beside a running server. */
const aimCpu = 1.5;

/**
 * Times `memslot hook` as an agent runs it: a process for each event, in turn with an empty Node. The events are the start of
 * a session, a prompt with and one without matching notes, the end of a turn with a longer transcript, and a compaction. The
 * prompts are then repeated beside a running server, without the time of the server itself.
 */
export async function benchHooks(files: number): Promise<void> {
  await withNotes(files, async ({ folder, workspace }) => {
    const contestant = memslot(folder, workspace, { provider: "none" });
    const [program = ""] = contestant.index;
    // Measured to the end also on a busy machine.
    const environment = { ...contestant.environment, MEMSLOT_HOOK_DEADLINE_MS: "60000" };
    for (let run = 0; run < 2; run++) measure(contestant.index, environment, 15 * 60_000);
    const transcript = path.join(folder, "transcript.jsonl");
    writeFileSync(transcript, "");
    const shared = { transcript_path: transcript, cwd: folder };
    const probe = Math.min(1234, files - 1);
    const events: Record<string, (round: number) => object> = {
      "session start": () => ({ hook_event_name: "SessionStart", source: "startup" }),
      [answered]: () => ({
        hook_event_name: "UserPromptSubmit",
        prompt: `access code of project zephyr${probe}`,
      }),
      "prompt that is not": () => ({ hook_event_name: "UserPromptSubmit", prompt: "rename the variable in this loop" }),
      "end of a turn": (round) => {
        appendFileSync(transcript, said(round));
        return { hook_event_name: "Stop", session_id: "one" };
      },
      compaction: (round) => {
        appendFileSync(transcript, said(rounds + round));
        return { hook_event_name: "PreCompact", session_id: "one", turn_id: String(round) };
      },
    };
    const times: Record<string, Usage[]> = { "empty Node": [] };
    const run = (name: string, event: (round: number) => object): void => {
      for (let round = 0; round < rounds; round++) {
        const input = JSON.stringify({ session_id: `${name} ${round}`, ...shared, ...event(round) });
        const words = [program, "hook", "claude-code", "--workspace", workspace];
        const usage = measure(words, environment, 60_000, input);
        if (name.startsWith(answered) && !usage.stdout.includes(accessCode(probe)))
          throw new Error(`the hook did not show ${accessCode(probe)}: ${usage.stdout}`);
        (times[name] ??= []).push(usage);
        times["empty Node"]?.push(measure(["--eval", "0"], environment, 60_000));
      }
    };
    for (const [name, event] of Object.entries(events)) run(name, event);
    const server = spawn(process.execPath, [program, "mcp", "--workspace", workspace], {
      env: environment,
      stdio: ["pipe", "ignore", "inherit"],
    });
    try {
      const sockets = path.join(contestant.indexFolder, "run");
      while (!existsSync(sockets) || readdirSync(sockets).length === 0) await sleep(50);
      for (const [name, event] of Object.entries(events))
        if (name.startsWith("prompt")) run(`${name}${besideServer}`, event);
    } finally {
      server.stdin.end();
      await once(server, "exit");
    }
    const of = (name: string, figure: "wallMs" | "cpuMs"): number =>
      median((times[name] ?? []).map((usage) => usage[figure]));
    const ratio = (name: string, figure: "wallMs" | "cpuMs"): string =>
      `${(of(name, figure) / of("empty Node", figure)).toFixed(1)}x`;
    printTable(
      `memslot hook, ${files} notes, one process for each event`,
      ["event", "wall, median", "of an empty Node", "processor", "of an empty Node", "aim"],
      Object.keys(times).map((name) => [
        name,
        `${Math.round(of(name, "wallMs"))} ms`,
        ratio(name, "wallMs"),
        `${Math.round(of(name, "cpuMs"))} ms`,
        ratio(name, "cpuMs"),
        name === "empty Node" ? "" : name.endsWith(besideServer) ? `${aimCpu}x processor` : `${aimMs} ms`,
      ]),
    );
  });
}

function said(round: number): string {
  const timestamp = "2026-05-01T08:00:00Z";
  const message = { role: "user", content: `Decision ${round} of the day is to keep the plan of module ${round}.` };
  return `${JSON.stringify({ type: "user", uuid: `m${round}`, timestamp, message })}\n`;
}
