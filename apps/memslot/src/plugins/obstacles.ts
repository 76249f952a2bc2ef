import type { MemslotConfig } from "@memslot/core";
import type { ConfigEdit } from "../config-file/edit-text.ts";

/** A key of the configuration that stands against a plugin, and what it is changed to. */
export interface Obstacle {
  edit: ConfigEdit;
  /** What is done about it, for people. */
  words: string;
}

/** What forbids a plugin in the configuration whatever the slot says. */
export function obstaclesTo(
  { plugins }: MemslotConfig,
  { id, packageName }: { id: string; packageName?: string | undefined },
): Obstacle[] {
  const names = [id, packageName].filter((name) => name !== undefined);
  const obstacles: Obstacle[] = [];
  if (!plugins.enabled) {
    const edit: ConfigEdit = { key: ["plugins", "enabled"], value: true };
    obstacles.push({ edit, words: "plugins.enabled is false and becomes true" });
  }
  for (const name of names) {
    if (plugins.deny.includes(name)) {
      const edit: ConfigEdit = { key: ["plugins", "deny"], without: name };
      obstacles.push({ edit, words: `plugins.deny lists "${name}" and lists it no longer` });
    }
    if (Object.hasOwn(plugins.entries, name) && plugins.entries[name]?.enabled === false) {
      const edit: ConfigEdit = { key: ["plugins", "entries", name, "enabled"], value: true };
      obstacles.push({ edit, words: `plugins.entries.${name}.enabled is false and becomes true` });
    }
  }
  return obstacles;
}
