import { EventEmitter } from "node:events";
import { availableParallelism } from "node:os";
import { MessageChannel, type MessagePort, receiveMessageOnPort, Worker } from "node:worker_threads";
import { handedDown } from "../../thread-options.ts";
import type { Joining } from "./protocol.ts";
import type { LedgerThread } from "./worker-client.ts";

/** More would not be faster on more cores: what a host waits for most is one of them. */
const maxThreads = Math.min(4, availableParallelism());
/**
 * How often a thread with waiting ledgers is looked at. One that is inside the same call both times is busy: a ledger
 * waits for another one for 3 to 6 s.
 */
const lookEveryMs = 3000;

/** With more room for garbage a thread of many ledgers takes twice the memory. */
const resourceLimits = { maxYoungGenerationSizeMb: 8 };

const threads = new Set<SharedThread>();
let lastLedger = 0;

/**
 * A place in one of the threads that the ledgers of this process share. A ledger that stops its thread, or keeps it busy
 * with one call, is alone in that: the other ledgers of the thread move to another and emit `moved`; what they have sent
 * and got no answer to has to be sent again. It never emits `exit`.
 */
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

  /** `mayMove`: whether the ledger can be opened again in another thread without loss. */
  constructor(mayMove: () => boolean = () => true) {
    super();
    this.#mayMove = mayMove;
    this.#join();
  }

  get ledger(): number {
    return this.#ledger;
  }

  /** Whether an answer is due that another thread could give. */
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

  /** Ends the thread for all where this ledger is inside a call that does not end, and otherwise with its last ledger. */
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

  /** A call that has not ended by now never will. */
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

  /** From here on its thread begins no call of it. */
  leaves(): void {
    Atomics.store(this.#hasLeft, 0, 1);
  }

  /** What has been answered before counts. */
  #leave(): void {
    this.#thread.members.delete(this);
    this.leaves();
    for (let next; (next = receiveMessageOnPort(this.#port));) this.emit("message", next.message);
    this.#port.close();
  }
}

class SharedThread {
  readonly members = new Set<SharedLedger>();
  /** The ledger whose call the thread is inside and how many calls it has begun. 0: no ledger is to blame for its end. */
  readonly #running = new Int32Array(new SharedArrayBuffer(8));
  readonly #worker: Worker;
  #failure: unknown;
  #timer: NodeJS.Timeout | undefined;
  /** The call that held the others up. */
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

  /** Whether it is still inside the call that held the others up. */
  get isBusy(): boolean {
    const [ledger, calls] = this.#runningCall();
    return ledger !== 0 && calls === this.#longCall;
  }

  add(member: SharedLedger, joining: Joining): void {
    this.members.add(member);
    this.#worker.postMessage(joining, [joining.port]);
  }

  /**
   * Stops it. The ledger that it is inside a call of gets `error`; the others move. Where it has never begun a call, all
   * of them get `error`: another thread would not start either.
   */
  async stop(failure: unknown = new Error("one of its calls did not end")): Promise<void> {
    if (!threads.delete(this)) return;
    clearTimeout(this.#timer);
    const [culprit, calls] = this.#runningCall();
    const ended = this.#worker.terminate();
    // Before any of them moves, which takes a while: the thread must begin nothing that another one is asked for too.
    for (const member of this.members) member.leaves();
    for (const member of this.members)
      if (member.ledger === culprit || calls === 0) member.emit("error", failure);
      else member.move();
    await ended;
  }

  /** Looks now and then whether a call of one ledger holds the others up, as long as something is due. */
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

/** The thread with the fewest ledgers. A busy one counts for nothing: a ledger that blocks has one to itself. */
function threadWithRoom(): SharedThread {
  const free = [...threads].filter((thread) => !thread.isBusy).toSorted((a, b) => a.members.size - b.members.size);
  const [first] = free;
  return first && (free.length >= maxThreads || first.members.size === 0) ? first : new SharedThread();
}
