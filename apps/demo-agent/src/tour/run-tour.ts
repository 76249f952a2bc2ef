import { rmSync } from "node:fs";
import { mkdir, mkdtemp, realpath, rm } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { inspect, isDeepStrictEqual, styleText } from "node:util";
import { messageOf, withDeadline } from "@memslot/core";
import { exitInterrupted } from "../interrupt.ts";
import { conversationSteps } from "./conversation-steps.ts";
import { notesSteps } from "./notes-steps.ts";
import { recoverySteps } from "./recovery-steps.ts";
import { type Teller, Tour, type TourParts, tourParts } from "./tour-context.ts";
import { startToyEmbeddings } from "./toy-embeddings.ts";

export interface TourOptions {
  output: NodeJS.WritableStream & { readonly isTTY?: boolean };
  signal: AbortSignal;
  fast?: boolean | undefined;
  parts?: Partial<TourParts> | undefined;
}

const steps = [...notesSteps, ...conversationSteps, ...recoverySteps];
const stepTimeoutMs = 60_000;
const pauseMs = 700;
const farewellMs = 3_000;

/**
 * Plays a month of an assistant in a temporary folder and checks each step. Exit code: 0, 1 (failed), 130 (aborted).
 */
export async function runTour(options: TourOptions): Promise<number> {
  const { output, signal } = options;
  const write = (line = ""): void => void output.write(`${line}\n`);
  const paint = (style: "green" | "red" | "bold", text: string): string => styleText(style, text, { stream: output });
  const startedMs = performance.now();
  const failed = new Set<string>();
  let current = "";
  const tell = (what: string, failure: string | undefined): void => {
    if (failure !== undefined) failed.add(current);
    write(`     ${failure === undefined ? paint("green", "ok") : paint("red", "FAILED")}  ${what}${failure ?? ""}`);
  };
  const shown = (value: unknown): string => inspect(value, { breakLength: Infinity, maxStringLength: 300 });
  const teller: Teller = {
    say: (line) => write(`     ${line}`),
    check: (what, found, expected) => {
      const held = isDeepStrictEqual(found, expected);
      tell(what, held ? undefined : `: expected ${shown(expected)}, found ${shown(found)}`);
    },
    holds: (what, text, wanted) => {
      tell(what, text.includes(wanted) ? undefined : `: ${shown(wanted)} is not in ${shown(text)}`);
    },
  };

  if (signal.aborted) return exitInterrupted;
  const rootDir = await realpath(await mkdtemp(path.join(os.tmpdir(), "memslot-tour-")));
  const removal = { recursive: true, force: true, maxRetries: 5, retryDelay: 100 };
  // Also if the process ends without waiting.
  const removeNow = (): void => rmSync(rootDir, removal);
  process.once("exit", removeNow);
  try {
    await mkdir(path.join(rootDir, "notes"));
    write(paint("bold", "A month with an assistant, on a virtual clock."));
    write("In a temporary folder and on 127.0.0.1: no key, no network, no model. The chat model follows a script, and");
    write("the vectors come from a toy that knows a few synonyms; everything else is the code an agent runs.");
    let running = Promise.resolve();
    const given = { rootDir, parts: { ...tourParts, ...options.parts }, signal, teller };
    const tour = new Tour(given, await startToyEmbeddings());
    try {
      for (const [index, step] of steps.entries()) {
        current = `${index + 1} ${step.name}`;
        write(`\n${paint("bold", `${String(index + 1).padStart(2)}/${steps.length} ${step.name}`)}`);
        const limits = { what: `step ${index + 1}`, deadlineMs: stepTimeoutMs, signals: [signal] };
        running = step.run(tour);
        await withDeadline(limits, () => running).catch((error: unknown) => {
          signal.throwIfAborted();
          tell("it comes to its end", `: ${messageOf(error)}`);
        });
        if (output.isTTY === true && options.fast !== true) await sleep(pauseMs, undefined, { signal });
      }
    } finally {
      // An aborted step may still open something that has to be closed.
      await Promise.race([running.catch(() => undefined), sleep(farewellMs)]);
      await tour.close();
    }
  } catch (error) {
    if (!signal.aborted) throw error;
    return exitInterrupted;
  } finally {
    await rm(rootDir, removal);
    // An aborted opening may still create a folder.
    if (!signal.aborted) process.off("exit", removeNow);
  }
  const seconds = ((performance.now() - startedMs) / 1000).toFixed(1);
  const outcome = failed.size === 0 ? "all passed" : `${failed.size} failed`;
  write(`\n${steps.length} steps, ${outcome}, in ${seconds} s`);
  for (const name of failed) write(`     ${paint("red", "FAILED")}  ${name}`);
  if (failed.size > 0) return 1;
  write("Talk to it: npm start. Give its memory to an assistant of yours: memslot mcp");
  return 0;
}
