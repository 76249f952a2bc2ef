// Spares a command that soon ends what V8 does ahead of a long run: an eighth of its processor time.
const shortCommands = ["hook", "search", "get"];
const longRun = ["opt", "maglev", "incremental-marking", "parallel-scavenge"];
const AHEAD_MS = 1000;
/** What these commands use of Node. It keeps its own modules compiled for the flags that it was started with: they come first. */
const used = ["crypto", "fs/promises", "module", "os", "perf_hooks", "timers/promises", "zlib"];

/**
 * Turns the optimising compilers and the garbage collection in other threads off for the first second of a search,
 * a read or a hook, which has mostly ended by then. To be called before anything is compiled: a cache of compiled code
 * is of one set of flags.
 */
export function expectShortRun(args) {
  if (!args.some((word) => shortCommands.includes(word))) return;
  for (const name of used) process.getBuiltinModule(`node:${name}`);
  const { setFlagsFromString } = process.getBuiltinModule("node:v8");
  for (const flag of longRun) setFlagsFromString(`--no-${flag}`);
  setTimeout(() => {
    for (const flag of longRun) setFlagsFromString(`--${flag}`);
  }, AHEAD_MS).unref();
}
