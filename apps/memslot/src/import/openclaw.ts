import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import path from "node:path";
import json5 from "json5";
import { MemoryError, messageOf, parseConfig } from "@memslot/core";
import { fieldsOf, leaveOut, type LeftOut, textOf } from "./exported-conversation.ts";

/** An OpenClaw installation, and the usable part of its configuration. */
export interface OpenClawHome {
  /** Its configuration. */
  readonly file: string;
  /** In memslot's form, without keys. */
  readonly config: Record<string, unknown>;
  /** The workspaces of its agents, the default one first. */
  readonly workspaces: readonly string[];
  /** Notices about unknown values. */
  readonly notices: readonly string[];
}

type Fields = Record<string, unknown>;

const secrets: ReadonlySet<string> = new Set(["apiKey", "headers", "token"]);

/** Reads `openclaw.json`, or that of a folder, and keeps settings of the same meaning. Throws `INVALID_ARGUMENT`. */
export function readOpenClaw(
  given: string,
  { env, leftOut }: { env: NodeJS.ProcessEnv; leftOut: LeftOut },
): OpenClawHome {
  const file = isFolder(given) ? path.join(given, "openclaw.json") : given;
  const all = configIn(file);
  const home = path.dirname(file);
  const agents = fieldsOf(all["agents"]) ?? {};
  const defaults = fieldsOf(agents["defaults"]) ?? {};
  const usual = textOf(defaults["workspace"]) || path.join(home, "workspace");
  const memory = fieldsOf(all["memory"]) ?? {};
  const owners = fieldsOf(all["commands"])?.["ownerAllowFrom"];
  const list = agentsIn(agents, leftOut);
  const config = without({
    agents: {
      defaults: without({
        workspace: usual,
        userTimezone: defaults["userTimezone"],
        memorySearch: searchOf(defaults["memorySearch"], leftOut),
        compaction: defaults["compaction"],
      }),
      ...(list.length > 0 && { list }),
    },
    memory: without({ citations: memory["citations"], search: searchOf(memory["search"], leftOut) }),
    commands: Array.isArray(owners)
      ? { ownerAllowFrom: owners.map(String).filter((owner) => owner !== "*") }
      : undefined,
  });
  leaveOut(
    leftOut,
    "conversations, which OpenClaw keeps in a form of its own",
    existsSync(path.join(home, "agents")) ? 1 : 0,
  );
  leaveOut(
    leftOut,
    "the old index: its passages are cut otherwise, so that its vectors fit none of memslot's",
    indexes(home),
  );
  const read = parseConfig(config, { baseDir: home, env, stateDir: path.join(home, "memslot-import") });
  const workspaces = new Set([read.agent("main").workspaceDir, ...read.agents.map((agent) => agent.workspaceDir)]);
  return { file, config, workspaces: [...workspaces], notices: read.notices };
}

function configIn(file: string): Fields {
  try {
    const all = fieldsOf(json5.parse(readFileSync(file, "utf8").replace(/^\uFEFF/u, "")));
    if (all !== undefined) return all;
    throw new Error("it is no object");
  } catch (error) {
    throw new MemoryError(
      "INVALID_ARGUMENT",
      `${file} is no configuration of OpenClaw that can be read: ${messageOf(error)}; name openclaw.json or the folder that it lies in`,
      { cause: error },
    );
  }
}

/** Its agents in the old and the new form, each with its usable settings. */
function agentsIn(agents: Fields, leftOut: LeftOut): Fields[] {
  const listed = Array.isArray(agents["list"]) ? agents["list"].map(fieldsOf) : [];
  const entries = Object.entries(fieldsOf(agents["entries"]) ?? {}).map(([id, entry]) => ({ ...fieldsOf(entry), id }));
  return [...listed, ...entries].flatMap((agent: Fields | undefined) => {
    const id = textOf(agent?.["id"]);
    if (agent === undefined || id === "") return [];
    const search = agent["memorySearch"] ?? fieldsOf(agent["memory"])?.["search"];
    return [
      without({
        id,
        default: agent["default"] === true ? true : undefined,
        workspace: agent["workspace"],
        memorySearch: searchOf(search, leftOut),
      }),
    ];
  });
}

/** Search settings without keys, OpenClaw's own index and its conversations. */
function searchOf(search: unknown, leftOut: LeftOut): Fields | undefined {
  const fields = fieldsOf(search);
  if (fields === undefined) return undefined;
  const { sources, store: _, experimental: __, rememberAcrossConversations: ___, ...rest } = fields;
  const others = (Array.isArray(sources) ? sources : []).filter((source) => source !== "memory");
  leaveOut(leftOut, "sources other than the notes", others.length);
  return withoutSecrets(rest, leftOut);
}

/** A key given by the name of its variable stays: it is no secret. */
function withoutSecrets(fields: Fields, leftOut: LeftOut): Fields {
  const kept = Object.entries(fields).flatMap(([name, value]): [string, unknown][] => {
    const group = fieldsOf(value);
    if (secrets.has(name) && !/^\$\{\w+\}$/u.test(textOf(value))) {
      leaveOut(leftOut, "keys that stand in the text: set OPENAI_API_KEY or GEMINI_API_KEY, or write them yourself");
      return [];
    }
    return [[name, group === undefined ? value : withoutSecrets(group, leftOut)]];
  });
  return Object.fromEntries(kept);
}

/** Without undefined values and empty groups. */
function without(fields: Record<string, unknown>): Fields {
  return Object.fromEntries(
    Object.entries(fields).filter(([, value]) => {
      const group = fieldsOf(value);
      return value !== undefined && (group === undefined || Object.keys(group).length > 0);
    }),
  );
}

function indexes(home: string): number {
  const memory = path.join(home, "memory");
  const old = isFolder(memory) ? readdirSync(memory).filter((name) => name.endsWith(".sqlite")).length : 0;
  const agents = path.join(home, "agents");
  const own = isFolder(agents)
    ? readdirSync(agents).filter((id) => existsSync(path.join(agents, id, "agent", "openclaw-agent.sqlite"))).length
    : 0;
  return old + own;
}

function isFolder(place: string): boolean {
  return statSync(place, { throwIfNoEntry: false })?.isDirectory() === true;
}
