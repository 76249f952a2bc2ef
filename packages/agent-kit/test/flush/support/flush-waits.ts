// Turns of a conversation whose model is an endpoint that dies during one of them, by refusing or by never answering. At the
// end two callers wait for the flush. Prints `ended` once both have returned; the process then ends by itself.
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { parseConfig } from "@memslot/core";
import { createMemoryFlush, openSessions } from "@memslot/agent-kit";

const [workspace = "", stateDir = "", turns, diesAt, death, first, second] = process.argv.slice(2);

let requests = 0;
const server = createServer((_, response) => {
  if (++requests < Number(diesAt)) return void response.end("NO_REPLY");
  if (death === "refuses") {
    server.close();
    server.closeAllConnections();
  }
});
await once(server.listen(0, "127.0.0.1").unref(), "listening");
const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;

const agent = parseConfig({ agents: { defaults: { workspace } } }, { stateDir, env: {} }).agent("main");
const sessions = await openSessions({ stateDir, agentId: "main" });
const session = await sessions.open("agent:main:main");
const flush = await createMemoryFlush({
  agent,
  stateDir,
  session,
  retryDelaysMs: [0, 0],
  runTurn: async ({ signal }) => await (await fetch(url, { signal })).text(),
});
for (let turn = 0; turn < Number(turns); turn++)
  await flush.beforeDrop([
    { role: "user", id: `m${turn}`, at: new Date().toISOString(), text: `The user said ${turn}.` },
  ]);

const wait = async (call: string | undefined): Promise<void> =>
  void (await (call === "close" ? flush.close() : flush.settled()));
const isClosing = first === "close" || second === "close";
if (!isClosing && death === "hangs") throw new Error("an endless turn ends only if the flush is closed");
await Promise.all([wait(first), wait(second)]);
await flush.close();
await sessions.close();
server.closeAllConnections();
process.stdout.write("ended\n");
