import { existsSync } from "node:fs";
import path from "node:path";
import { type PatternPlace, patternPath } from "@memslot/core/host";
import {
  type Agent,
  agents,
  type AgentFile,
  type Connection,
  type ConnectScope,
  type HookMoment,
} from "@memslot/indexing/host";
import { type JsonEntry, jsonEdit } from "./json-edit.ts";
import { type TextEdit, markedBlock, wholeFile } from "./text-edit.ts";
import { tomlEdit } from "./toml-edit.ts";

export interface AgentPlace extends PatternPlace {
  readonly scope: ConnectScope;
  readonly cwd: string;
}

export interface ConnectedFile {
  readonly path: string;
  readonly what: AgentFile["what"];
  readonly edit: TextEdit;
}

/** The files that an agent has in a scope. A file for the server and the hooks is one. */
export function filesOf(agent: Agent, place: AgentPlace, connection: Connection): ConnectedFile[] {
  const found: (Omit<ConnectedFile, "edit"> & { edit?: TextEdit; json: JsonEntry[] })[] = [];
  for (const file of agent.files) {
    const { what, ifExists, text, mark = "" } = file;
    const paths = [file[place.scope] ?? []].flat().map((each) => absolutePath(each, place));
    const target = paths.find((each) => existsSync(each)) ?? paths.at(-1);
    if (target === undefined || (what === "hooks" && connection.hook === undefined)) continue;
    if (ifExists !== undefined && !existsSync(absolutePath(ifExists, place))) continue;
    if (text !== undefined) found.push({ path: target, what, edit: wholeFile(text(connection), mark), json: [] });
    else if (what === "instructions")
      found.push({ path: target, what, edit: markedBlock(instructionsOf(file, connection)), json: [] });
    else if (what === "server" && target.endsWith(".toml"))
      found.push({
        path: target,
        what,
        edit: tomlEdit([file.group ?? "", "memslot"], entryOf(file, connection)),
        json: [],
      });
    else {
      const json = what === "server" ? serverEntries(file, connection) : hookEntries(agent, file, connection, place);
      const same = found.find((each) => each.path === target);
      if (same === undefined) found.push({ path: target, what, json });
      else same.json.push(...json);
    }
  }
  return found.map(({ json, edit = jsonEdit(json), ...file }) => ({ ...file, edit }));
}

function absolutePath(pattern: string, place: AgentPlace): string {
  return /^[~$@]/u.test(pattern) ? (patternPath(pattern, place) ?? "") : path.join(place.cwd, pattern);
}

/** The lines for the model, with the names that the agent gives the tools. */
function instructionsOf({ toolPrefix = "", lines = [] }: AgentFile, { instructions }: Connection): string[] {
  return [...instructions, ...lines].map((line) => line.replaceAll(/\bmemory_[a-z]+/gu, `${toolPrefix}$&`));
}

function entryOf({ entry, before, after }: AgentFile, connection: Connection): object {
  return entry?.(connection) ?? { ...before, ...connection.server, ...after };
}

function serverEntries(file: AgentFile, connection: Connection): JsonEntry[] {
  return [{ path: [file.group ?? "", "memslot"], value: entryOf(file, connection), owner: "memslot" }];
}

/** A hook for each event that needs one: at prompts only if the agent passes text to its model there. */
function hookEntries(
  { hooks = { events: {}, answers: {} } }: Agent,
  { handler, version }: AgentFile,
  { hook = "" }: Connection,
  { platform }: AgentPlace,
): JsonEntry[] {
  const isUsed = (moment: HookMoment): boolean => moment !== "prompt" || hooks.answers.prompt !== undefined;
  const events = Object.entries(hooks.events).flatMap(([event, moment]) => (isUsed(moment) ? event : []));
  const entries = events.map((event) => ({ list: ["hooks", event], item: handler?.(hook, event, platform) }));
  return version === undefined ? entries : [{ path: ["version"], value: version, owner: "any" }, ...entries];
}

/** The agents of this machine: one of their files or folders exists, or their program is on the PATH. */
export function foundAgents(place: AgentPlace): Agent[] {
  const isSign = (sign: string): boolean => existsSync(absolutePath(sign, place));
  return agents.filter(({ signs, programs }) => signs.some(isSign) || programs.some((name) => isOnPath(name, place)));
}

function isOnPath(name: string, { env, platform }: AgentPlace): boolean {
  const endings = platform === "win32" ? [".cmd", ".exe"] : [""];
  const folders = (env["PATH"] ?? "").split(path.delimiter).filter((folder) => folder !== "");
  return folders.some((folder) => endings.some((ending) => existsSync(path.join(folder, name + ending))));
}

export function hasScope(agent: Agent, scope: ConnectScope): boolean {
  return agent.files.some((file) => file[scope] !== undefined);
}

/** What the user has to do or to know after connecting, one sentence each. */
export function notesOf({ notes }: Agent, { scope }: AgentPlace, { hook }: Connection): string[] {
  const given = [notes?.always, hook && notes?.hooks, scope === "project" ? notes?.project : undefined];
  return given.filter((note) => note !== undefined);
}
