import { type ConfigReferenceRow, configReference } from "@memslot/core/host";

type Group = Map<string, Group | ConfigReferenceRow>;

/** The first `memslot.json5`, with common keys as comments. A relative `workspace` starts at the file's folder. */
export function initialConfigText(options: { workspace: string; notes?: "all" }): string {
  const given: Readonly<Record<string, string | undefined>> = {
    "agents.defaults.workspace": options.workspace,
    "agents.defaults.memorySearch.notes": options.notes,
  };
  const root: Group = new Map();
  for (const key of configReference()) if (key.isCommon) insert(root, key);
  const lines = [
    "// The configuration of memslot, in JSON5: comments and commas at the end are fine.",
    "// What is commented out is the default. `memslot config` shows every key, its value and where it comes from.",
    "{",
    ...written(root, "  "),
    "}",
  ];
  return `${lines.join("\n")}\n`;

  function written(group: Group, indent: string): string[] {
    return [...group].flatMap(([name, inner]) => {
      if (inner instanceof Map) return [`${indent}${name}: {`, ...written(inner, `${indent}  `), `${indent}},`];
      const chosen = given[inner.key];
      const value = chosen === undefined ? inner.default : JSON.stringify(chosen);
      return [`${indent}// ${inner.doc}`, `${indent}${chosen === undefined ? "// " : ""}${name}: ${value},`];
    });
  }
}

function insert(root: Group, key: ConfigReferenceRow): void {
  const names = key.key.split(".");
  const last = names.pop() ?? "";
  let group = root;
  for (const name of names) {
    const known = group.get(name);
    const next = known instanceof Map ? known : (new Map() as Group);
    group.set(name, next);
    group = next;
  }
  group.set(last, key);
}
