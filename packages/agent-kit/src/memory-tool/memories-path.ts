/** Where the model's folder begins. */
export const memoriesRoot = "/memories";

/** Notes that lie beside `memory/` and not in it. */
const besideMemory = new Set(["MEMORY.md", "memory.md", "USER.md"]);

/**
 * The place in the workspace behind a path of the model: `/memories/x.md` is `memory/x.md`, and `/memories/MEMORY.md` the
 * curated file. `/memories` itself is `memory`. Throws for every other path, also where it is written in an odd way.
 */
export function workspacePath(given: string): string {
  const refused = (why: string): Error => new Error(`Path ${given} is not allowed: ${why}`);
  const parts = given.replace(/\/+$/u, "").split("/");
  if (parts[0] !== "" || `/${parts[1]}` !== memoriesRoot) throw refused(`it has to begin with ${memoriesRoot}`);
  // oxlint-disable-next-line no-control-regex -- they are what is refused
  if (/[\\\u0000-\u001F]|%(?:2e|2f|5c|00|25)/iu.test(given))
    throw refused("it holds a sign that no name of a note has");
  const names = parts.slice(2);
  for (const name of names)
    if (name === "" || name.startsWith(".")) throw refused("no part of it may be empty or begin with a dot");
  const [first = "", ...rest] = names;
  return rest.length === 0 && besideMemory.has(first) ? first : ["memory", ...names].join("/");
}
