/** Whether a command line runs `memslot hook`, of whatever installation. */
function runsHook(command: string): boolean {
  return /\bmemslot(?:\.(?:js|cmd|exe)|[/\\]src[/\\]cli\.ts)?["']?\s(?:.*\s)?hook(?:\s|$)/u.test(command);
}

/** Whether a hook of a client's configuration is of this program alone: a handler, or a group of handlers. */
export function isOwnHook(item: unknown): boolean {
  if (typeof item !== "object" || item === null) return false;
  const { command, args, hooks } = item as Record<string, unknown>;
  if (Array.isArray(hooks)) return hooks.length > 0 && hooks.every(isOwnHook);
  const words = [command, ...(Array.isArray(args) ? args : [])];
  return typeof command === "string" && runsHook(words.join(" "));
}
