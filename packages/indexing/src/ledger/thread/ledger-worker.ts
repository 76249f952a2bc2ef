import { parentPort } from "node:worker_threads";
import { createLedgerService } from "./ledger-service.ts";
import type { Request } from "./protocol.ts";

/** The worker's side of `worker-client.ts`. */
const port = parentPort;
if (port === null) throw new Error("this module is the entry of a worker thread");

const receive = createLedgerService((reply) => port.postMessage(reply));
port.on("message", (request: Request) => receive(request));
