import { createInterface } from "node:readline";
import { ProviderError, type EmbeddingFailure } from "@memslot/core";
import { Circuit } from "../circuit-breaker.ts";
import { SharedState } from "../shared-state.ts";
import { Usage } from "../usage.ts";

/** A process with a circuit and a count of usage on a state folder. `clock N` sets its clock N milliseconds ahead. */
const [stateDir = "", agentId = "main"] = process.argv.slice(2);
const realNow = Date.now.bind(Date);
const shared = new SharedState(stateDir);
const circuit = new Circuit(shared, "shared");
const usage = new Usage(shared, agentId);
/** Sent while the circuit was closed: their failures are known to this process. */
const sent = Array.from({ length: 40 }, () => circuit.enter(false));
let pass = sent[0];

const commands: Record<string, (argument: string) => unknown> = {
  clock: (milliseconds) => void (Date.now = () => realNow() + Number(milliseconds)),
  enter: (asked) => (pass = circuit.enter(asked === "asked")) !== undefined,
  state: () => circuit.state(),
  fail(kind) {
    (pass ?? sent.pop())?.end(new ProviderError(kind as EmbeddingFailure, `it was ${kind}`, { retryAfterMs: 60_000 }));
    pass = sent.pop();
  },
  succeed() {
    pass?.end("answered");
    pass = sent.pop();
  },
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
