import type { ConfigKey } from "../keys/config-key.ts";
import { someText } from "../deep.ts";
import type { ConfigLayer } from "../layer.ts";
import { hasReference } from "../settle.ts";

/** Names that one notice lists. */
const maxNames = 20;

/**
 * Leaves of a file that nobody has trusted yet only the keys that are harmless, and tells in one notice what was taken
 * out. No agent of it is left: which agents there are is the user's to say.
 */
export function setAside(layer: ConfigLayer): void {
  const removed: string[] = [];
  for (const [at, { key, value, written }] of layer.values) {
    if (isHarmless(key, value)) continue;
    layer.values.delete(at);
    removed.push(written);
  }
  removed.push(...agentKeysIn(layer));
  layer.agents.clear();
  if (removed.length === 0) return;
  const more = removed.length > maxNames ? ` and ${removed.length - maxNames} more` : "";
  layer.notices.push(
    `${layer.label} is not trusted, so these keys are set aside: ${removed.slice(0, maxNames).join(", ")}${more}; if the file is yours, run \`memslot trust\` in its folder`,
  );
}

/** A variable of the environment may hold a secret, and what is nested without end is no value of such a key. */
function isHarmless(key: ConfigKey, value: unknown): boolean {
  return key.harmless === true && !someText(value, hasReference);
}

/** Every key of an agent that was written, and the list itself where an agent has nothing but its id. */
function agentKeysIn({ agents }: ConfigLayer): string[] {
  return [...agents].flatMap(([id, values]) => {
    const written = [...values.values()].map((found) => found.written).filter((name) => !name.endsWith("].id"));
    return written.length > 0 ? written : [`agents.list[${id}]`];
  });
}
