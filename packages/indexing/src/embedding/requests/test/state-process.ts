import { createInterface } from "node:readline";
import { EmbeddingError, type EmbeddingFailure } from "@memslot/core";
import { Circuit } from "../circuit.ts";
import { Usage } from "../usage.ts";

/**
 * A process with a circuit and a count of usage on a state folder. The circuit's clock is as many milliseconds ahead as
 * `clock N` says.
 */
const [stateDir = "", agentId = "main"] = process.argv.slice(2);
let ahead = 0;
const circuit = new Circuit({ stateDir, fingerprint: "shared", now: () => new Date(Date.now() + ahead) });
const usage = new Usage({ stateDir, agentId });

const commands: Record<string, (argument: string) => unknown> = {
  clock: (milliseconds) => (ahead = Number(milliseconds)),
  enter: (asked) => circuit.enter(asked === "asked"),
  state: () => circuit.state() ?? null,
  fail: (kind) =>
    circuit.fail(new EmbeddingError(kind as EmbeddingFailure, `it was ${kind}`, { retryAfterMs: 60_000 })),
  succeed: () => circuit.succeed(),
  spend(times) {
    const entry = { reason: "watch", provider: "p", model: "a model with a long name ".repeat(8), requests: 1 };
    for (let time = 0; time < Number(times); time++) usage.add({ ...entry, tokens: 7 });
  },
  tokens: () => usage.tokensToday(),
};

let answers = 0;
for await (const line of createInterface({ input: process.stdin })) {
  const [name = "", argument = ""] = line.split(" ");
  process.stdout.write(`${++answers} ${JSON.stringify(commands[name]?.(argument) ?? null)}\n`);
}
