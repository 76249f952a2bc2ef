import path from "node:path";
import { pathToFileURL } from "node:url";
import type { AnyPlugin } from "@memslot/core";
import { root } from "./pack-all.ts";

/** The manifest of an extension with the schema of its options as the plugin itself has it. */
export async function withOwnSchema(text: string, place: string): Promise<string> {
  const entry = pathToFileURL(path.join(root, place, "src/index.ts")).href;
  const { default: plugin } = (await import(entry)) as { default: AnyPlugin };
  const manifest = JSON.parse(text) as Record<string, unknown>;
  return `${JSON.stringify({ ...manifest, configSchema: plugin.configSchema }, undefined, 2)}\n`;
}
