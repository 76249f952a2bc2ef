import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, statSync, writeFileSync } from "node:fs";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import path from "node:path";
import tls from "node:tls";
import { type PackedPackage, packumentOf } from "./packing.ts";
import { root } from "./repository.ts";
import { type CommandRun, plainEnvironment, run, tryCommand } from "./run-command.ts";

/** A user with an empty folder, a home folder without caches, and a package manager with its default settings. */
export interface Stranger {
  readonly project: string;
  readonly home: string;
  /** Runs a command in the project, or in a folder below it. An exit code other than 0 is an error. */
  run(command: string, options: readonly string[], folder?: string): Promise<CommandRun>;
  /** Installs packages with the package manager of this stranger. */
  install(...packages: string[]): Promise<CommandRun>;
  /** Runs the installed command under `node`, or under the Node of this process. */
  memslot(options: readonly string[], node?: string): Promise<CommandRun>;
  write(files: Readonly<Record<string, string>>): void;
}

export function createStranger(options: {
  folder: string;
  registry: string;
  packageManager: "npm" | "pnpm";
}): Stranger {
  const home = path.join(options.folder, "home");
  const project = path.join(options.folder, "project");
  mkdirSync(home, { recursive: true });
  mkdirSync(project);
  writeFileSync(path.join(home, ".npmrc"), `registry=${options.registry}\n`);
  const env = {
    ...withoutFolders(plainEnvironment()),
    HOME: home,
    USERPROFILE: home,
    LOCALAPPDATA: path.join(home, "AppData", "Local"),
    // As in a CI: no package manager asks a question.
    CI: "true",
  };
  const where = { cwd: project, env };
  const write = (files: Readonly<Record<string, string>>): void => {
    for (const [name, text] of Object.entries(files)) {
      const file = path.join(project, name);
      mkdirSync(path.dirname(file), { recursive: true });
      writeFileSync(file, text);
    }
  };
  return {
    project,
    home,
    write,
    run: (command, words, below = ".") => run(command, words, { cwd: path.join(project, below), env }),
    install: (...packages) =>
      run(options.packageManager, [options.packageManager === "npm" ? "install" : "add", ...packages], where),
    memslot: (words, node = process.execPath) =>
      tryCommand(node, [path.join(project, "node_modules/memslot/bin/memslot.js"), ...words], where),
  };
}

/** Notes to search, below `notes`. */
export const strangersNotes: Readonly<Record<string, string>> = {
  "notes/MEMORY.md": "# Memory\n\n- The staging database listens on port 5544.\n",
  "notes/memory/2026-03-05.md": "# 2026-03-05\n\n- 医生说每天要走一万步。\n",
};

/** What a folder takes on disk, in bytes, as `du` counts: whole blocks, each file once. */
export function diskUsage(folder: string): number {
  const seen = new Set<string>();
  let sum = 0;
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    if (entry.isSymbolicLink()) continue;
    const stats = statSync(path.join(entry.parentPath, entry.name));
    const inode = `${stats.dev}:${stats.ino}`;
    if (seen.has(inode)) continue;
    seen.add(inode);
    // Windows counts no blocks.
    sum += stats.blocks === 0 ? stats.size : stats.blocks * 512;
  }
  return sum;
}

/** The binary of another Node, kept beside the launcher's own tools, so that a second run needs no network. */
export async function fetchNode(version: string): Promise<string> {
  const windows = process.platform === "win32";
  const name = `node-${windows ? "win" : process.platform}-${process.arch}`;
  const folder = path.join(root, ".tools", `node-${version}`);
  const binary = path.join(folder, "node_modules", name, "bin", windows ? "node.exe" : "node");
  if (!existsSync(binary)) {
    mkdirSync(folder, { recursive: true });
    writeFileSync(path.join(folder, "package.json"), '{ "private": true }\n');
    writeFileSync(path.join(folder, "pnpm-workspace.yaml"), "packages: []\n");
    await run("pnpm", ["add", "--silent", `${name}@${version}`], { cwd: folder });
  }
  return binary;
}

function withoutFolders(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(env).filter(([name]) => !/^(XDG_.*|PNPM_HOME|INIT_CWD)$/.test(name)));
}

export interface RegistryOptions {
  readonly packages: readonly PackedPackage[];
  /** Where what came from the machine's registry is kept for runs without a network. */
  readonly cacheFolder: string;
}

export interface Registry {
  /** With a slash at the end, as it stands in an `.npmrc`. */
  readonly url: string;
  /** Adds a package, as publishing it would. */
  publish(added: PackedPackage): void;
  close(): Promise<void>;
}

/** An npm registry on 127.0.0.1 that serves packed packages; all others come from the machine's own registry. */
export async function startRegistry(options: RegistryOptions): Promise<Registry> {
  const packages = new Map(options.packages.map((packed) => [packed.name, packed]));
  const upstream = await createUpstream(options.cacheFolder);
  const server = createServer((request, response) => {
    void answer(request, response, { packages, upstream }).catch((error: unknown) => {
      response.writeHead(500).end(String(error));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/`,
    publish: (added) => void packages.set(added.name, added),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

async function answer(
  request: IncomingMessage,
  response: ServerResponse,
  { packages, upstream }: { packages: ReadonlyMap<string, PackedPackage>; upstream: Upstream },
): Promise<void> {
  const place = request.url ?? "/";
  const here = `http://${request.headers.host}/`;
  const wanted = decodeURIComponent(place.slice(1));
  const packed = packages.get(wanted);
  if (packed) return sendJson(response, packumentOf(packed, `${here}${wanted}/-/${packed.fileName}`));
  const file = [...packages.values()].find((each) => wanted === `${each.name}/-/${each.fileName}`);
  if (file) return void response.writeHead(200, { "content-type": "application/octet-stream" }).end(file.bytes);
  // Audits and the like: nothing that an installation waits for.
  if (request.method !== "GET") return void response.writeHead(404).end("{}");
  const found = await upstream.get(place, { accept: request.headers.accept, here });
  response.writeHead(found.status, found.headers).end(found.body);
}

function sendJson(response: ServerResponse, value: unknown): void {
  response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(value));
}

interface Upstream {
  /** The answer to GET `place`, with the addresses of tarballs turned into ones below `here`. */
  get(place: string, options: { accept: string | undefined; here: string }): Promise<UpstreamAnswer>;
}

interface UpstreamAnswer {
  status: number;
  headers: Record<string, string>;
  body: Buffer | string;
}

const answerTimeoutMs = 60_000;

/**
 * The registry that npm is set up to use on this machine. What it answers is kept in `cacheFolder`: a tarball is asked
 * for once, the list of a package's versions again each time, and the kept one serves if the registry does not answer.
 */
async function createUpstream(cacheFolder: string): Promise<Upstream> {
  const setting = (name: string): string =>
    execFileSync("npm", ["config", "get", name], {
      encoding: "utf8",
      shell: process.platform === "win32",
      stdio: ["ignore", "pipe", "ignore"],
    }).trim();
  const registry = setting("registry").replace(/\/*$/, "/");
  const certificates = setting("cafile");
  if (existsSync(certificates))
    tls.setDefaultCACertificates([...tls.getCACertificates("default"), readFileSync(certificates, "utf8")]);
  mkdirSync(cacheFolder, { recursive: true });
  return {
    async get(place, { accept, here }) {
      const tarball = /\/-\/[^/]+\.tgz$/.test(place);
      const type = tarball ? "application/octet-stream" : "application/json";
      const name = createHash("sha256").update(`${accept} ${registry} ${place}`).digest("hex").slice(0, 32);
      const kept = path.join(cacheFolder, `${name}.${tarball ? "tgz" : "json"}`);
      const answer = (body: Buffer): UpstreamAnswer => ({
        status: 200,
        headers: { "content-type": type },
        body: tarball ? body : moved(body.toString("utf8"), { from: registry, to: here }),
      });
      if (tarball && existsSync(kept)) return answer(readFileSync(kept));
      let response: Response;
      try {
        response = await fetch(new URL(place.slice(1), registry), {
          headers: { accept: accept ?? "*/*" },
          signal: AbortSignal.timeout(answerTimeoutMs),
        });
      } catch {
        if (existsSync(kept)) return answer(readFileSync(kept));
        // The client has ways to the registry that are not known here: a proxy, a password.
        return { status: 302, headers: { location: new URL(place.slice(1), registry).href }, body: "" };
      }
      const body = Buffer.from(await response.arrayBuffer());
      if (!response.ok) return { status: response.status, headers: { "content-type": type }, body };
      // Renamed into place, so that a run that ends here leaves no half of a file.
      writeFileSync(`${kept}.${process.pid}`, body);
      renameSync(`${kept}.${process.pid}`, kept);
      return answer(body);
    },
  };
}

/** A package's list of versions with the addresses of its tarballs below another registry. */
function moved(packument: string, { from, to }: { from: string; to: string }): string {
  return packument.replaceAll(/("tarball":\s*")([^"]+)/g, (all, before: string, address: string) =>
    address.startsWith(from) ? `${before}${to}${address.slice(from.length)}` : all,
  );
}
