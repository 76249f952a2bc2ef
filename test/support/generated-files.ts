import { mkdirSync, mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { type AnyPlugin } from "@memslot/core";
import { configReference } from "@memslot/core/host";
import wabt from "wabt";
import { agentPages, clientIdsFile, clientsPage, withAgentLists } from "./agent-lists.ts";
import { apiReport, reportedPlaces } from "./api-report.ts";
import { extensions, manifestAt, root } from "./repository.ts";
import { plainEnvironment, tryCommand } from "./run-command.ts";
import data from "../data/examples.json" with { type: "json" };

const start = "<!-- keys:start -->";
const end = "<!-- keys:end -->";

/** The page with its tables of keys rebuilt from the table in the code. */
function withConfigTable(page: string): string {
  const from = page.indexOf(start);
  const to = page.indexOf(end);
  if (from < 0 || to < from) throw new Error(`docs/configuration.md needs the marks ${start} and ${end}`);
  const rows = configReference();
  // Keys below one place are one table, so that a row has room for its text.
  const places = ["agents.defaults.memorySearch.", "agents.defaults.compaction.", ""];
  const tables = places.map((place) => {
    const own = rows.filter(({ key }) =>
      place === "" ? !places.some((other) => other && key.startsWith(other)) : key.startsWith(place),
    );
    const lines = own.map((row) =>
      [`\`${row.key.slice(place.length)}\``, shortType(row.type), code(row.default), row.doc].map(cell).join(" | "),
    );
    const title = place === "" ? "Other keys" : `\`${place.slice(0, -1)}\``;
    return `### ${title}\n\n| key | value | default | |\n| --- | --- | --- | --- |\n${lines.map((line) => `| ${line} |\n`).join("")}`;
  });
  const table = tables.join("\n").trimEnd();
  return `${page.slice(0, from + start.length)}\n\n${table}\n\n${page.slice(to)}`;
}

/** The type of a key as a table names it: messages say it in a sentence. */
function shortType(type: string): string {
  return type
    .replace(
      /^a (whole )?number from (\S+) to (\S+)$/u,
      (_, whole, from, to) => `${whole ? "integer" : "number"}, ${from} to ${to}`,
    )
    .replace("true or false", "boolean")
    .replace(/^a text$/u, "string")
    .replace("a list of texts, none of them blank", "strings")
    .replace("an object that gives each name a text", "names and strings")
    .replace(/^one of /u, "")
    .replace("an address that starts with http:// or https://", "URL")
    .replace(/^the keys of (.+)$/u, "as `$1`")
    .replace(/^the name of a time zone.*$/u, "time zone")
    .replace(/^an? /u, "");
}

function code(value: string): string {
  return value === "" ? "" : `\`${value}\``;
}

function cell(text: string): string {
  return text.replaceAll("|", "\\|");
}

interface KeyRow {
  key: string;
  type: string;
  default?: unknown;
  choices?: string[];
  doc: string;
  same?: string;
}

/** The type of a key's values, by the type in its row. */
const typeNames: Readonly<Record<string, string>> = {
  string: "string",
  path: "string",
  url: "string",
  timeZone: "string",
  boolean: "boolean",
  integer: "number",
  number: "number",
  choice: "",
  strings: "readonly string[]",
  globs: "readonly string[]",
  paths: "readonly string[]",
  map: "Readonly<Record<string, string>>",
  extraPaths: "readonly (string | ExtraPath)[]",
  object: "Readonly<Record<string, unknown>>",
};

type KeyGroup = Map<string, KeyGroup | KeyRow>;

/** The file `config-values.ts`: the type of the effective values, from the table of keys. */
function configTypes(): string {
  const rows = JSON.parse(readFileSync(path.join(root, "packages/core/src/config/keys.json"), "utf8")) as KeyRow[];
  const tree: KeyGroup = new Map();
  for (const row of rows) {
    if (row.same !== undefined || row.key.includes("[]")) continue;
    const names = row.key.split(".");
    let group = tree;
    for (const name of names.slice(0, -1)) {
      const next = group.get(name);
      const inner: KeyGroup = next instanceof Map ? next : new Map();
      group.set(name, inner);
      group = inner;
    }
    group.set(names.at(-1) ?? "", row);
  }
  return `// Made of packages/core/src/config/keys.json by \`pnpm generate\`.

/** A folder or file outside the usual places; \`pattern\` is a glob relative to it. */
export interface ExtraPath {
  readonly path: string;
  readonly pattern?: string | undefined;
}

/** Every value of the configuration that holds for all agents, defaults filled in. */
export interface ConfigValues ${fieldsOf(tree, "")}
`;
}

function fieldsOf(group: KeyGroup, indent: string, mark = ""): string {
  const fields = [...group].flatMap(([name, inner]) => {
    const start = `${indent}  readonly ${name}${mark}: `;
    if (!(inner instanceof Map)) return [`${indent}  /** ${inner.doc} */`, `${start}${typeOf(inner)};`];
    const named = inner.get("*");
    if (!(named instanceof Map)) return `${start}${fieldsOf(inner, `${indent}  `)};`;
    // What is not written of a name is not there.
    return `${start}Readonly<\n${indent}    Record<\n${indent}      string,\n${indent}      ${fieldsOf(named, `${indent}      `, "?")}\n${indent}    >\n${indent}  >;`;
  });
  return ["{", ...fields, `${indent}}`].join("\n");
}

function typeOf({ key, type, default: standard, choices = [] }: KeyRow): string {
  const name = typeNames[type];
  if (name === undefined)
    throw new Error(`${key} has the type "${type}", which is none of ${Object.keys(typeNames).join(", ")}`);
  const names = [name, ...choices.map((choice) => `"${choice}"`), standard === undefined ? "undefined" : ""];
  return names.filter((each) => each !== "").join(" | ");
}

interface Manifest {
  dependencies: Record<string, string>;
  devDependencies: Record<string, string>;
  peerDependencies: Record<string, string>;
  peerDependenciesMeta: Record<string, { optional: boolean }>;
}

/**
 * The manifest of the command with its optional peers: all extensions of this repository that it does not depend on. Its
 * tests have them as development dependencies.
 */
function withOfferedPeers(text: string): string {
  const manifest = JSON.parse(text) as Manifest;
  const offered = extensions.map(({ name }) => name).filter((name) => !(name in manifest.dependencies));
  const others = Object.entries(manifest.devDependencies).filter(
    ([name]) => !/^@memslot\/(?:memory|embeddings|rerank)-/.test(name),
  );
  const here = offered.map((name) => [name, "workspace:*"] as const);
  manifest.devDependencies = Object.fromEntries([...others, ...here].toSorted(([a], [b]) => (a < b ? -1 : 1)));
  manifest.peerDependencies = Object.fromEntries(offered.map((name) => [name, "workspace:^"]));
  manifest.peerDependenciesMeta = Object.fromEntries(offered.map((name) => [name, { optional: true }]));
  return `${JSON.stringify(manifest, undefined, 2)}\n`;
}

/** The manifest of an extension with the schema of its options as the plugin itself has it; a new one is made of what is known. */
async function pluginManifest(text: string, place: string): Promise<string> {
  const entry = pathToFileURL(path.join(root, place, "src/index.ts")).href;
  const { default: plugin } = (await import(entry)) as { default: AnyPlugin };
  const { id, kind, configSchema } = plugin;
  const known = { id, kind, name: path.basename(place), description: manifestAt(place).description };
  const written = JSON.parse(text === "" ? "{}" : text) as Record<string, unknown>;
  return `${JSON.stringify({ ...known, ...written, configSchema }, undefined, 2)}\n`;
}

const source = "extensions/memory-core/src/vectors/kernel/kernel.wat";
/** SIMD, and memory that threads share. */
const features = { simd: true, threads: true };
const perLine = 100;

/** The file `kernel-bytes.ts`: the bytes that `kernel.wat` comes to. */
async function vectorKernel(): Promise<string> {
  const { parseWat } = await wabt();
  const module = parseWat(path.basename(source), readFileSync(path.join(root, source), "utf8"), features);
  try {
    module.resolveNames();
    const text = Buffer.from(module.toBinary({}).buffer).toString("base64");
    const lines = text.match(new RegExp(`.{1,${perLine}}`, "gu")) ?? [];
    return `// Made of kernel.wat by \`pnpm generate\`.
export const kernelBytes: readonly string[] = [
${lines.map((line) => `  "${line}",`).join("\n")}
];
`;
  } finally {
    module.destroy();
  }
}

/** `all-languages.ts` and `stemmer-modules.ts` beside the languages: those that have a file, and the stemmers that these name. */
function languageTable(kind: "files" | "stemmers"): string {
  const folder = path.join(root, "packages/indexing/src/text/languages");
  const files = readdirSync(folder).filter((name) => name.endsWith(".json"));
  const codes = files.map((name) => name.slice(0, 2)).toSorted();
  const made = "// Made of the JSON files of this folder by `pnpm generate`.\n";
  if (kind === "files")
    return `${made}import type { LanguageFile } from "../times/language.ts";
${codes.map((code) => `import ${code} from "./${code}.json" with { type: "json" };\n`).join("")}
type Code = ${codes.map((code) => `"${code}"`).join(" | ")};

export const languages: Readonly<Record<Code, LanguageFile>> = { ${codes.join(", ")} };
`;
  const lines = codes.flatMap((code) => {
    const stemmer = /"stemmer": "(\w+)"/u.exec(readFileSync(path.join(folder, `${code}.json`), "utf8"))?.[1];
    return stemmer === undefined ? [] : `export { stemmer as ${code} } from "@orama/stemmers/${stemmer}";\n`;
  });
  return made + lines.join("");
}

type Make = (text: string) => string | Promise<string>;

/** Each generated file, and its content made from its present text. */
export const generatedFiles: Readonly<Record<string, Make>> = {
  "docs/configuration.md": withConfigTable,
  "packages/core/src/contract/config-values.ts": configTypes,
  "packages/core/src/contract/client-ids.ts": clientIdsFile,
  "docs/clients.md": clientsPage,
  "apps/memslot/package.json": withOfferedPeers,
  "extensions/memory-core/src/vectors/kernel/kernel-bytes.ts": vectorKernel,
  "packages/indexing/src/text/languages/all-languages.ts": () => languageTable("files"),
  "packages/indexing/src/text/languages/stemmer-modules.ts": () => languageTable("stemmers"),
  ...made(Object.keys(agentPages), (page) => [page, (text) => withAgentLists(page, text)]),
  ...made(reportedPlaces, (place) => [`${place}/api.md`, () => apiReport(place)]),
  ...made(extensions, ({ place }) => [`${place}/memslot.plugin.json`, (text) => pluginManifest(text, place)]),
};

function made<T>(items: readonly T[], of: (item: T) => [name: string, make: Make]): Record<string, Make> {
  return Object.fromEntries(items.map(of));
}

/** Pages whose `console` samples are what the command prints. */
export const sampledPages: readonly string[] = ["README.md", "README.zh-CN.md", "apps/memslot/README.md"];

/** What each command has printed: two pages show the same ones. */
const outputs = new Map<string, string>();

/** The page with the real output below each `$ memslot memory …` of its `console` blocks, on the notes of examples.json. */
export async function withSampleOutput(page: string): Promise<string> {
  const folder = realpathSync(mkdtempSync(path.join(tmpdir(), "memslot-sample-")));
  try {
    mkdirSync(path.join(folder, "notes/memory"), { recursive: true });
    for (const [name, text] of Object.entries(data.sampleNotes)) writeFileSync(path.join(folder, "notes", name), text);
    const env = { ...plainEnvironment(), HOME: folder, USERPROFILE: folder };
    const cli = path.join(root, "apps/memslot/src/cli.ts");
    writeFileSync(
      path.join(folder, "memslot"),
      `#!/bin/sh\nexec "${process.execPath}" --conditions=@memslot/source "${cli}" "$@"\n`,
      { mode: 0o755 },
    );
    for (const [, line = ""] of page.matchAll(/^\$ (memslot memory .+)$/gmu)) {
      if (outputs.has(line)) continue;
      const PATH = `${folder}${path.delimiter}${process.env["PATH"]}`;
      const { stdout } = await tryCommand("sh", ["-c", line], { cwd: folder, env: { ...env, PATH } });
      outputs.set(line, stdout.trimEnd());
    }
    return page.replaceAll(/^```console\n(?=\$ memslot memory )[^]*?^```$/gmu, (block) => {
      const lines = [...block.matchAll(/^\$ (.+)$/gmu)].map(([, line = ""]) => `$ ${line}\n${outputs.get(line)}`);
      return `\`\`\`console\n${lines.join("\n\n")}\n\`\`\``;
    });
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
