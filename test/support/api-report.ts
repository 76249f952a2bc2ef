import { readFileSync } from "node:fs";
import path from "node:path";
import { isolatedDeclarationSync } from "rolldown/experimental";
import { parseSync } from "rolldown/utils";
import { manifestAt, publishedPlaces, root } from "./repository.ts";

/** An exported name: its declarations without comments, and the kind of what it names. */
type Exports = Map<string, { isValue: boolean; text: string }>;

/** Each published package with an entry that can be imported, relative to the root. */
export const reportedPlaces: readonly string[] = publishedPlaces.filter((place) => entriesOf(place).length > 0);

/** The file `api.md` of a package: what each of its entries exports, in the order of the alphabet. */
export function apiReport(place: string): string {
  const sections = entriesOf(place).map(([entry, file]) => {
    const names = [...exportsOf(path.join(root, place, file))].toSorted(([a], [b]) => (a < b ? -1 : 1));
    const values = names.filter(([, { isValue }]) => isValue).length;
    const texts = names.map(([name, { text }]) => (text === "" ? `export { ${name} };` : text));
    const heading = path.posix.join(manifestAt(place).name, entry);
    return `## \`${heading}\`\n\nValues: ${values}. Types: ${names.length - values}.\n\n\`\`\`ts\n${texts.join("\n\n")}\n\`\`\`\n`;
  });
  return `# The public API of ${manifestAt(place).name}\n\nMade from the sources by \`pnpm generate\`: its diff shows what a change does to the public API.\n\n${sections.join("\n")}`;
}

function entriesOf(place: string): [entry: string, file: string][] {
  const entries = Object.entries(manifestAt(place).exports ?? {}) as [string, string | Record<string, string>][];
  return entries.flatMap(([entry, target]) => {
    const file = typeof target === "string" ? undefined : target["@memslot/source"];
    return file === undefined ? [] : [[entry, file]];
  });
}

const modules = new Map<string, Exports>();

/** What a module exports, its own and what it passes on from modules of the same package. */
function exportsOf(file: string): Exports {
  const known = modules.get(file);
  if (known !== undefined) return known;
  const { code, errors } = isolatedDeclarationSync(file, readFileSync(file, "utf8"), { sourcemap: false });
  if (errors.length > 0) throw new Error(`${file}: ${errors[0]?.message}`);
  const made: Exports = new Map();
  modules.set(file, made);
  const add = (name: string, isValue: boolean, text: string): void => {
    const before = made.get(name);
    made.set(name, { isValue: isValue || before?.isValue === true, text: before ? `${before.text}\n${text}` : text });
  };
  const from = (source: { value: unknown } | null | undefined): Exports => {
    const name = String(source?.value);
    return name.startsWith(".") ? exportsOf(path.resolve(path.dirname(file), name)) : new Map();
  };
  const { program } = parseSync("module.d.ts", code, { lang: "dts" });
  const own = new Map<string, [isValue: boolean, text: string]>();
  for (const statement of program.body) {
    const declaration = statement.type === "ExportNamedDeclaration" ? statement.declaration : statement;
    for (const name of namesOf(declaration))
      own.set(name, [!/^TS(?:Interface|TypeAlias)/u.test(declaration?.type ?? ""), textOf(code, statement)]);
  }
  for (const statement of program.body) {
    if (statement.type === "ExportAllDeclaration")
      for (const [name, each] of from(statement.source))
        if (name !== "default") add(name, each.isValue && statement.exportKind === "value", each.text);
    if (statement.type === "ExportDefaultDeclaration") {
      const [, text = textOf(code, statement)] = own.get(nameOf(statement.declaration)) ?? [];
      add("default", true, `${text} // the default`);
    }
    if (statement.type !== "ExportNamedDeclaration") continue;
    for (const name of namesOf(statement.declaration)) {
      const [isValue = false, text = ""] = own.get(name) ?? [];
      add(name, isValue, text);
    }
    for (const { local, exported, exportKind } of statement.specifiers) {
      const [name, shown] = [nameOf(local), nameOf(exported)];
      const kept = statement.source ? from(statement.source).get(name) : undefined;
      const [isValue, text] = kept ? [kept.isValue, kept.text] : (own.get(name) ?? [true, ""]);
      add(
        shown,
        isValue && exportKind === "value" && statement.exportKind === "value",
        name === shown ? text : `${text} // as ${shown}`,
      );
    }
  }
  return made;
}

interface Declared {
  readonly type: string;
  readonly id?: unknown;
  readonly declarations?: readonly { readonly id: unknown }[];
}

function namesOf(declaration: unknown): string[] {
  const declared = declaration as Declared | null;
  if (declared?.declarations) return declared.declarations.map(({ id }) => nameOf(id));
  return declared?.id ? [nameOf(declared.id)] : [];
}

function nameOf(node: unknown): string {
  const { name, value } = node as { name?: string; value?: string };
  return name ?? value ?? "";
}

function textOf(code: string, { start, end }: { start: number; end: number }): string {
  const text = code.slice(start, end).replaceAll(/^\s*\/\*\*[\s\S]*?\*\/\n/gmu, "");
  return text.replace(/^(?:export )?(?:default )?(?:declare )?/u, "").replaceAll("\t", "  ");
}
