import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { type FakeQmd, type FakeQmdOptions, makeFakeQmd } from "@memslot/fakes/qmd";
import { type Child, isRunning, startChild } from "@memslot/test-tools/child";
import { afterwards, tempFolder, writeFiles } from "@memslot/test-tools/files";
import { stringify } from "yaml";
import { QmdFailure } from "../../failures.ts";
import type { FoundQmd } from "../find-qmd.ts";
import { QmdClient, type QmdQuery, type QmdRow } from "../qmd-client.ts";
import type { HostEnvironment, QmdLimits } from "../run-qmd.ts";
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

/** Answers come in time on a loaded machine too, and processes end soon. */
export const shortLimits: Partial<QmdLimits> = data.shortLimits;

export interface QmdLab {
  fake: FakeQmd;
  folder: string;
  notes: string;
  client: QmdClient;
  notices: string[];
  /** Writes notes and reads them into the index. */
  update(files?: Readonly<Record<string, string>>): Promise<void>;
  ask(words: string, more?: Partial<QmdQuery>): Promise<QmdRow[]>;
}

export interface QmdLabOptions {
  fake?: FakeQmd | undefined;
  /** By default the scripted qmd. */
  found?: FoundQmd | undefined;
  folder?: string | undefined;
  notes?: string | undefined;
  limits?: Partial<QmdLimits> | undefined;
  environment?: HostEnvironment | undefined;
}

/** A state folder with one collection `notes`, and a client that is closed after the test. */
export function openLab(options: QmdLabOptions = {}): QmdLab {
  const { fake = fakeQmd(), folder = tempFolder(), notes = tempFolder() } = options;
  const { found = { ...fake, location: fake.folder }, environment = process.env } = options;
  const notices: string[] = [];
  writeConfig(folder, notes);
  const limits = { ...shortLimits, ...options.limits };
  const client = new QmdClient({ found, folder, environment, limits, notify: (line) => notices.push(line) });
  afterwards(() => client.close());
  return {
    fake,
    folder,
    notes,
    client,
    notices,
    async update(files = {}) {
      writeFiles(notes, files);
      await client.update({ files: Object.keys(files).length, signal: noSignal });
    },
    ask: (words, more) =>
      client.query({
        searches: [{ type: "lex", query: words }],
        limit: 5,
        collections: ["notes"],
        rerank: false,
        deadlineMs: 30_000,
        signal: noSignal,
        ...more,
      }),
  };
}

/** Writes `index.yml` with the collection `notes`. */
export function writeConfig(folder: string, notes: string): void {
  const models = { embed: "hf:a/b/embed.gguf", rerank: "hf:a/b/rerank.gguf", generate: "hf:a/b/generate.gguf" };
  const collections = { notes: { path: notes, pattern: "**/*.md" } };
  writeFileSync(join(folder, "index.yml"), stringify({ collections, models, adapter_rev: 1 }));
}

/** The `QmdFailure` of work that has to fail with one. */
export async function failureOf(work: Promise<unknown>): Promise<QmdFailure> {
  const error = await work.then(
    () => new Error("it did not fail"),
    (reason: unknown) => reason,
  );
  if (error instanceof QmdFailure) return error;
  throw error;
}

/** Starts a host process; see `qmd-host.ts`. */
export function startHost(fake: Pick<FakeQmd, "argv">, folder: string, what: string, graceMs = 300): Child {
  const args = [fake.argv[1] ?? "", folder, what, String(graceMs)];
  return startChild(new URL("qmd-host.ts", import.meta.url), args, { detached: true });
}
