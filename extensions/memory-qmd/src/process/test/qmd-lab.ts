import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { type Child, isRunning, startChild } from "@memslot/test-tools/child";
import { afterwards, tempFolder, writeFiles } from "@memslot/test-tools/files";
import { stringify } from "yaml";
import { openQmdProcess } from "../open-process.ts";
import {
  type FoundQmd,
  QmdFailure,
  type QmdLimits,
  type QmdProcess,
  type QmdProcessOptions,
  type QmdQuery,
} from "../../qmd-contract.ts";
import { type FakeQmd, type FakeQmdOptions, makeFakeQmd } from "@memslot/fakes/qmd";
import data from "./qmd-lab.json" with { type: "json" };

/** A scripted qmd that is deleted after the test, or after the file outside of a test. */
export function fakeQmd(options: FakeQmdOptions = {}): FakeQmd {
  const fake = makeFakeQmd({ folder: tempFolder(), ...options });
  afterwards(() => {
    for (const pid of fake.grandchildren().filter(isRunning)) process.kill(pid, "SIGKILL");
    fake.remove();
  });
  return fake;
}

export const noSignal: AbortSignal = new AbortController().signal;

/** What is waited for comes in time on a loaded machine too, and what has to end ends soon. */
export const shortLimits: Partial<QmdLimits> = data.shortLimits;

export interface QmdLab {
  fake: FakeQmd;
  folder: string;
  notes: string;
  process: QmdProcess;
  /** What was told through `notify`. */
  told: string[];
  /** Writes notes and reads them into the index. */
  update(files?: Readonly<Record<string, string>>): Promise<void>;
  ask(words: string, more?: Partial<QmdQuery>): ReturnType<QmdProcess["query"]>;
}

export interface QmdLabOptions {
  /** Absent: a new one. */
  fake?: FakeQmd | undefined;
  /** Absent: the scripted one. */
  found?: FoundQmd | undefined;
  folder?: string | undefined;
  notes?: string | undefined;
  mode?: "lexical" | "semantic" | undefined;
  limits?: Partial<QmdLimits> | undefined;
  environment?: QmdProcessOptions["environment"] | undefined;
}

/** A state folder with one collection `notes`, and what talks to qmd about it. It is closed after the test. */
export function openLab(options: QmdLabOptions = {}): QmdLab {
  const { fake = fakeQmd(), folder = tempFolder(), notes = tempFolder(), mode = "lexical", limits } = options;
  const { found = { ...fake, location: fake.folder } } = options;
  const told: string[] = [];
  writeConfig(folder, { notes: { path: notes, pattern: "**/*.md" } });
  const process = openQmdProcess({
    found,
    folder,
    environment: options.environment ?? globalThis.process.env,
    mode,
    limits: { ...shortLimits, ...limits },
    notify: (line) => told.push(line),
  });
  afterwards(() => process.close());
  return {
    fake,
    folder,
    notes,
    process,
    told,
    async update(files = {}) {
      writeFiles(notes, files);
      await process.update({ files: Object.keys(files).length, signal: noSignal });
    },
    ask: (words, more) => process.query({ ...questionOf(words), ...more }),
  };
}

export function questionOf(words: string): QmdQuery {
  return {
    searches: [{ type: "lex", query: words }],
    limit: 5,
    collections: ["notes"],
    rerank: false,
    deadlineMs: 30_000,
    signal: noSignal,
  };
}

/** `index.yml` as this adapter writes it. */
export function writeConfig(
  folder: string,
  collections: Readonly<Record<string, { path: string; pattern: string }>>,
): void {
  const models = { embed: "hf:a/b/embed.gguf", rerank: "hf:a/b/rerank.gguf", generate: "hf:a/b/generate.gguf" };
  writeFileSync(join(folder, "index.yml"), stringify({ collections, models, adapter_rev: 1 }));
}

/** The failure of work that has to fail with one. */
export async function failureOf(work: Promise<unknown>): Promise<QmdFailure> {
  const error = await work.then(
    () => new Error("it did not fail"),
    (reason: unknown) => reason,
  );
  if (error instanceof QmdFailure) return error;
  throw error;
}

/** Starts a process of its own that uses the scripted qmd; see `qmd-host.ts` for what it can do. */
export function startHost(fake: FakeQmd, folder: string, what: string, graceMs = 300): Child {
  const args = [fake.argv[1] ?? "", folder, what, String(graceMs)];
  return startChild(new URL("qmd-host.ts", import.meta.url), args, { detached: true });
}
