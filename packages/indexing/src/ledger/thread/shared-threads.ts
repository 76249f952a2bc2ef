import { EventEmitter } from "node:events";
import { availableParallelism } from "node:os";
import { MessageChannel, type MessagePort, receiveMessageOnPort, Worker } from "node:worker_threads";
import { handedDown } from "../../worker-exec-args.ts";
import type { Joining } from "./thread-messages.ts";
import type { LedgerThread } from "./worker-client.ts";

const maxThreads = Math.min(4, availableParallelism());
/** Interval of checks for busy threads. Two checks inside the same call: busy. Other ledgers wait 3 to 6 s. */
const lookEveryMs = 3000;

/** A larger young generation doubles the memory of a thread with many ledgers. */
const resourceLimits = { maxYoungGenerationSizeMb: 8 };

const threads = new Set<SharedThread>();
let lastLedger = 0;

/** A ledger in a shared thread. If one blocks the thread, the others move and emit `moved`. */
export class SharedLedger
  extends EventEmitter<Record<"message" | "error" | "exit" | "moved" | "messageerror", unknown[]>>
  implements LedgerThread
{
  readonly #ledger = ++lastLedger;
  #thread!: SharedThread;
  #port!: MessagePort;
  #hasLeft!: Int32Array;
  #isWaiting = false;
  readonly #mayMove: () => boolean;

  constructor(mayMove: () => boolean = () => true) {
    super();
    this.#mayMove = mayMove;
    this.#join();
  }

  get ledger(): number {
    return this.#ledger;
  }

  get couldMove(): boolean {
    return this.#isWaiting && this.#mayMove();
  }

  postMessage(request: unknown): void {
    this.#port.postMessage(request);
    this.#thread.lookForLongCall();
  }

  ref(): void {
    this.#isWaiting = true;
    this.#port.ref();
  }

  unref(): void {
    this.#isWaiting = false;
    this.#port.unref();
  }

  async terminate(isClosed: boolean): Promise<void> {
    const thread = this.#thread;
    this.#leave();
    if (!isClosed || thread.members.size === 0) await thread.stop();
  }

  move(): void {
    this.#leave();
    try {
      this.#join();
    } catch (error) {
      return void this.emit("error", error);
    }
    if (this.#isWaiting) this.#port.ref();
    this.emit("moved");
  }

  callsBegun(): number {
    return this.#thread.callsBegun;
  }

  reportStuck(): void {
    void this.#thread.stop();
  }

  #join(): void {
    const { port1, port2 } = new MessageChannel();
    this.#port = port1;
    this.#hasLeft = new Int32Array(new SharedArrayBuffer(4));
    this.#thread = threadWithRoom();
    port1.on("message", (reply) => this.emit("message", reply));
    port1.on("messageerror", (error) => this.emit("messageerror", error));
    port1.unref();
    this.#thread.add(this, { ledger: this.#ledger, port: port2, left: this.#hasLeft });
  }

  leaves(): void {
    Atomics.store(this.#hasLeft, 0, 1);
  }

  #leave(): void {
    this.#thread.members.delete(this);
    this.leaves();
    for (let next; (next = receiveMessageOnPort(this.#port));) this.emit("message", next.message);
    this.#port.close();
  }
}

class SharedThread {
  readonly members = new Set<SharedLedger>();
  /** The ledger whose call is running, and the number of calls begun. 0: none. */
  readonly #running = new Int32Array(new SharedArrayBuffer(8));
  readonly #worker: Worker;
  #failure: unknown;
  #timer: NodeJS.Timeout | undefined;
  #longCall = 0;

  constructor() {
    const entry = new URL(import.meta.resolve("#ledger-worker"));
    const options = { name: "memslot-ledger", workerData: this.#running, resourceLimits, ...handedDown() };
    this.#worker = new Worker(entry, options);
    this.#worker.unref();
    this.#worker.on("error", (error) => (this.#failure = error));
    this.#worker.on("exit", (code) => void this.stop(this.#failure ?? new Error(`it exited with code ${code}`)));
    threads.add(this);
  }

  get callsBegun(): number {
    return this.#runningCall()[1];
  }

  get isBusy(): boolean {
    const [ledger, calls] = this.#runningCall();
    return ledger !== 0 && calls === this.#longCall;
  }

  add(member: SharedLedger, joining: Joining): void {
    this.members.add(member);
    this.#worker.postMessage(joining, [joining.port]);
  }

  /** Stops the thread: the ledger whose call is running gets `error`, the others move. */
  async stop(failure: unknown = new Error("one of its calls did not end")): Promise<void> {
    if (!threads.delete(this)) return;
    clearTimeout(this.#timer);
    const [culprit, calls] = this.#runningCall();
    const ended = this.#worker.terminate();
    // Before any of them moves, so that no call runs twice.
    for (const member of this.members) member.leaves();
    for (const member of this.members)
      if (member.ledger === culprit || calls === 0) member.emit("error", failure);
      else member.move();
    await ended;
  }

  lookForLongCall(): void {
    if (this.#timer !== undefined || this.members.size < 2) return;
    const [, before] = this.#runningCall();
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      const [ledger, calls] = this.#runningCall();
      const waiting = [...this.members].filter((member) => member.couldMove && member.ledger !== ledger);
      if (waiting.length === 0) return;
      if (ledger === 0 || calls !== before) return this.lookForLongCall();
      this.#longCall = calls;
      for (const member of waiting) member.move();
    }, lookEveryMs).unref();
  }

  #runningCall(): [ledger: number, calls: number] {
    return [Atomics.load(this.#running, 0), Atomics.load(this.#running, 1)];
  }
}

/** The thread with the fewest ledgers, except busy ones. */
function threadWithRoom(): SharedThread {
  const free = [...threads].filter((thread) => !thread.isBusy).toSorted((a, b) => a.members.size - b.members.size);
  const [first] = free;
  return first && (free.length >= maxThreads || first.members.size === 0) ? first : new SharedThread();
}
