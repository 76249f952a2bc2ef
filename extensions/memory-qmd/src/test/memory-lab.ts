import { mkdirSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import {
  type Memory,
  type MemoryPlugin,
  type MemorySearchOptions,
  type MemorySearchResult,
  openMemory,
  parseConfig,
  type SearchReport,
} from "@memslot/core";
import { afterwards, createWorkspace } from "@memslot/test-tools/files";
import { toMemoryError } from "../failures.ts";
import plugin from "../index.ts";
import { openQmdMemory } from "../open-memory.ts";
import { readOptions } from "../options.ts";
import { findQmd } from "../process/find-qmd.ts";
import type { QmdLimits } from "../process/run-qmd.ts";
import { stateFolder } from "../state-folder.ts";
import { type FakeQmd } from "@memslot/fakes/qmd";
import { fakeQmd, shortLimits } from "../process/test/qmd-lab.ts";

export interface MemoryLab {
  readonly fake: FakeQmd;
  readonly workspaceDir: string;
  readonly stateDir: string;
  /** Where the plugin keeps the files of this agent. */
  readonly folder: string;
  /** Each version of a file has a time stamp of its own, some time ago. */
  write(path: string, text: string): void;
  remove(path: string): void;
  open(options?: LabOptions): Promise<OpenedMemory>;
}

export interface LabOptions {
  /** `memory.qmd`. */
  qmd?: Readonly<Record<string, unknown>> | undefined;
  memorySearch?: Readonly<Record<string, unknown>> | undefined;
  limits?: Partial<QmdLimits> | undefined;
  /** Variables of the environment besides those of this process. */
  environment?: Readonly<Record<string, string | undefined>> | undefined;
  /** A command in place of the scripted qmd. */
  command?: string | undefined;
}

export interface OpenedMemory {
  memory: Memory;
  ask(
    query: string,
    options?: MemorySearchOptions,
  ): Promise<{ results: MemorySearchResult[]; report: SearchReport; paths: string[] }>;
}

/** Processes end soon; all other times are the usual ones, or those of the configuration. */
const { initializeMs: _initializeMs, statusMs: _statusMs, ...quickEnds } = shortLimits;

/** Nothing but the test itself looks at the files or tells qmd of them. */
const quiet = { onSessionStart: false, onSearch: false, watch: false, intervalMinutes: 0 };

/** A workspace, a state folder and a scripted qmd, all deleted after the test, or after the file outside of a test. */
export function memoryLab(): MemoryLab {
  const { workspaceDir, stateDir, write } = createWorkspace();
  const fake = fakeQmd();
  let clock = Math.floor(Date.now() / 1000) - 3600;
  return {
    fake,
    workspaceDir,
    stateDir,
    folder: stateFolder({ stateDir, agentId: "main", workspaceDir }),
    write(path, text) {
      write({ [path]: text });
      clock++;
      utimesSync(join(workspaceDir, path), clock, clock);
    },
    remove: (path) => rmSync(join(workspaceDir, path)),
    async open({ qmd = {}, memorySearch = {}, limits, environment = {}, command = fake.command } = {}) {
      const quick: MemoryPlugin = {
        ...plugin,
        async open(context) {
          try {
            return await openQmdMemory({
              context,
              options: readOptions(context.options),
              found: await findQmd({ command, environment: process.env, signal: context.signal }),
              environment: { ...process.env, ...environment },
              limits: { ...quickEnds, ...limits },
            });
          } catch (error) {
            throw toMemoryError(error);
          }
        },
      };
      const search = { provider: "none", ...memorySearch, sync: { ...quiet, ...(memorySearch["sync"] as object) } };
      const entries = { [plugin.id]: { config: { fallback: "none", ...qmd } } };
      const settings = {
        agents: { defaults: { workspace: workspaceDir, memorySearch: search } },
        commands: { ownerAllowFrom: ["telegram:42"] },
        plugins: { slots: { memory: plugin.id }, entries },
      };
      const memory = await openMemory({
        config: parseConfig(settings, { stateDir }),
        agentId: "main",
        plugins: [quick],
      });
      afterwards(() => memory.close());
      return {
        memory,
        async ask(query, options = {}) {
          const reports: SearchReport[] = [];
          const results = await memory.search(query, { ...options, onDebug: (report) => reports.push(report) });
          const [report] = reports;
          if (report === undefined) throw new Error("the search gave no report");
          return { results, report, paths: results.map(({ path }) => path) };
        },
      };
    },
  };
}

/** A memory with these notes, which qmd has read. */
export async function openIndexed(
  notes: Readonly<Record<string, string>>,
  options: LabOptions = {},
): Promise<MemoryLab & OpenedMemory> {
  const lab = memoryLab();
  for (const [path, text] of Object.entries(notes)) lab.write(path, text);
  const opened = await lab.open(options);
  await opened.memory.sync();
  return { ...lab, ...opened };
}

/** The error of a call that has to fail with one. */
export async function errorOf(work: Promise<unknown>): Promise<Error> {
  const error = await work.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (error instanceof Error) return error;
  throw new Error("it did not fail");
}

/** The part of the status about qmd. */
export function qmdStatus({ memory }: Pick<OpenedMemory, "memory">): Record<string, unknown> {
  return (memory.status().custom?.["qmd"] ?? {}) as Record<string, unknown>;
}

/** Writes a transcript with a message for each text, as hosts write them. Returns its file. */
export function writeSession(
  lab: Pick<MemoryLab, "stateDir">,
  id: string,
  texts: readonly string[],
  daysAgo = 1,
): string {
  const folder = join(lab.stateDir, "agents/main/sessions");
  mkdirSync(folder, { recursive: true });
  const timestamp = "2026-03-01T09:00:00.000Z";
  const lines = [
    { type: "session", version: 3, id, timestamp, cwd: "/" },
    ...texts.map((text, index) => ({
      type: "message",
      id: `m${index}`,
      parentId: null,
      timestamp,
      message: { role: index % 2 === 0 ? "user" : "assistant", content: [{ type: "text", text }] },
    })),
  ];
  const file = join(folder, `${id}.jsonl`);
  writeFileSync(file, `${lines.map((line) => JSON.stringify(line)).join("\n")}\n`);
  const seconds = Date.now() / 1000 - daysAgo * 86_400;
  utimesSync(file, seconds, seconds);
  return file;
}
