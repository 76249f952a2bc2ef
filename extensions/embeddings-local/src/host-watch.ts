import { Socket } from "node:net";
import { workerData } from "node:worker_threads";

/** The entry of the thread that `endWithHost` starts: watches the pipe of the host and ends the process with it. */
const { watches } = workerData as { watches: number };

const socket = new Socket({ fd: watches });
// At once: there is nothing to tidy.
socket.on("close", () => process.kill(process.pid, "SIGKILL"));
socket.on("error", () => {});
socket.resume();
