/** A plugin of this project that is a package of its own. */
export interface CataloguePlugin {
  readonly id: string;
  readonly kind: "memory" | "embedding";
  readonly packageName: string;
  /** Variables of the environment that hold a key for it. */
  readonly keyVariables?: readonly string[] | undefined;
}

/**
 * The plugins of this project beside memory-core, which comes with the command. They are named here so that one that is
 * chosen and not installed is told with the command that adds it; nothing else is decided by this list.
 */
export const pluginCatalogue: readonly CataloguePlugin[] = [
  { id: "memory-lancedb", kind: "memory", packageName: "@memslot/memory-lancedb" },
  { id: "memory-qmd", kind: "memory", packageName: "@memslot/memory-qmd" },
  { id: "local", kind: "embedding", packageName: "@memslot/embeddings-local" },
  { id: "openai", kind: "embedding", packageName: "@memslot/embeddings-openai", keyVariables: ["OPENAI_API_KEY"] },
  { id: "gemini", kind: "embedding", packageName: "@memslot/embeddings-gemini", keyVariables: ["GEMINI_API_KEY"] },
];

/** The plugin of an id or a package name; undefined for one that is not of this project. */
export function catalogued(name: string): CataloguePlugin | undefined {
  return pluginCatalogue.find(({ id, packageName }) => id === name || packageName === name);
}

/** The commands that add a plugin, for the middle of a sentence. */
export function howToAdd({ id, packageName }: CataloguePlugin): string {
  return `run \`memslot plugins add ${id}\`, or in an application \`npm install ${packageName}\``;
}
