// Imports the modules named on the command line and prints what that did, as one line of JSON (`ImportWatch`).
import childProcess from "node:child_process";
import dgram from "node:dgram";
import dns from "node:dns";
import fs from "node:fs";
import http from "node:http";
import http2 from "node:http2";
import https from "node:https";
import { registerHooks, syncBuiltinESMExports } from "node:module";
import net from "node:net";
import tls from "node:tls";
import workers from "node:worker_threads";

export interface ImportWatch {
  /** URLs of the modules that were loaded. */
  readonly modules: readonly string[];
  /** Calls that read, write, connect or start something, each with the line that made it. */
  readonly calls: readonly string[];
  /** What keeps the process alive or is under way: timers, sockets, workers. */
  readonly active: readonly string[];
  /** Native libraries in the process. */
  readonly native: readonly string[];
}

type Functions = Record<string, unknown>;

const calls: string[] = [];

/**
 * Notes a call that a module made. Node's own loader uses the same functions to read the modules; its calls come from
 * `node:` and are no business of the module's.
 */
function note(name: string): void {
  const caller = new Error(name).stack?.split("\n")[3]?.trim() ?? "";
  if (!/\(?node:/.test(caller)) calls.push(`${name} ${caller}`);
}

/** Replaces every function and class of a module by one that is noted and then does the same. */
function watch(name: string, functions: Functions): void {
  for (const [key, value] of Object.entries(functions)) {
    if (typeof value !== "function") continue;
    // A few are getters alone and stay as they are.
    const noted: unknown = new Proxy(value, {
      apply: (target, self, values) => {
        note(`${name}.${key}`);
        return Reflect.apply(target, self, values) as unknown;
      },
      construct: (target, values, made) => {
        note(`new ${name}.${key}`);
        return Reflect.construct(target, values, made) as object;
      },
    });
    Reflect.set(functions, key, noted);
  }
}

const watched = { fs, "fs.promises": fs.promises, childProcess, net, tls, http, https, http2, dgram, dns, workers };
for (const [name, functions] of Object.entries(watched)) watch(name, functions as unknown as Functions);
const own = { dlopen: process.dlopen, fetch: globalThis.fetch, WebSocket: globalThis.WebSocket };
watch("global", own as unknown as Functions);
process.dlopen = own.dlopen;
globalThis.fetch = own.fetch;
globalThis.WebSocket = own.WebSocket;
syncBuiltinESMExports();

const modules: string[] = [];
registerHooks({
  load(url, context, next) {
    modules.push(url);
    return next(url, context);
  },
});

calls.length = 0;
for (const specifier of process.argv.slice(2)) await import(specifier);
const active = process.getActiveResourcesInfo().filter((name) => !/^(TTYWrap|PipeWrap|FSReqPromise)$/.test(name));
const { sharedObjects } = process.report.getReport() as unknown as { sharedObjects: string[] };
const result: ImportWatch = { modules, calls: [...calls], active, native: sharedObjects };
process.stdout.write(`${JSON.stringify(result)}\n`, () => process.exit());
