import { Socket } from "node:net";
import { workerData } from "node:worker_threads";

/** The entry of a thread that ends the process when the pipe of the host closes. */
const { watches } = workerData as { watches: number };

const socket = new Socket({ fd: watches });
socket.on("close", () => process.kill(process.pid, "SIGKILL"));
socket.on("error", () => {});
socket.resume();
