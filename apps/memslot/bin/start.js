// Makes commands start sooner. Nothing of Node is imported: that makes a module with all its exports, which load others.
// An old Node has no such call, and gets no further than the sentence that tells so.
const ofNode = (name) => process.getBuiltinModule?.(`node:${name}`);
const [fs, module, os, path] = ["fs", "module", "os", "path"].map(ofNode);

const shortCommands = ["hook", "search", "get", "status"];
const longRun = ["opt", "incremental-marking", "parallel-scavenge"];
const AHEAD_MS = 1000;
/** What these commands use of Node. It keeps its own modules compiled for the flags that it was started with: they come first. */
const used = ["crypto", "fs/promises", "perf_hooks", "timers/promises", "zlib"];

/**
 * Turns the last of the optimising compilers and the garbage collection in other threads off for the first second of a search,
 * a read, a status or a hook, which has mostly ended by then. To be called before anything is compiled: a cache of compiled code
 * is of one set of flags.
 */
export function expectShortRun(args) {
  // A process that was started with flags keeps them: V8 does not report its flags, and with `--jitless` and some others it
  // crashes when a compiler is turned on later.
  if (process.execArgv.length > 0 || process.env.NODE_OPTIONS) return;
  if (!args.some((word) => shortCommands.includes(word))) return;
  used.forEach(ofNode);
  const { setFlagsFromString } = ofNode("v8");
  for (const flag of longRun) setFlagsFromString(`--no-${flag}`);
  setTimeout(() => {
    for (const flag of longRun) setFlagsFromString(`--${flag}`);
  }, AHEAD_MS).unref();
}

/**
 * Uses `cache/node` of the state folder, where that is there and nobody else can write in either: whoever can write into
 * the cache decides what is run, which rules out the usual place below the folder for temporary files. In any other case
 * nothing is kept and nothing is made. Never throws. `NODE_COMPILE_CACHE` and `NODE_DISABLE_COMPILE_CACHE` go before it.
 */
export function useCompileCache() {
  try {
    const stateDir = privateStateDir(process.env);
    if (stateDir === undefined) return;
    const folder = path.join(stateDir, "cache", "node");
    fs.mkdirSync(folder, { recursive: true, mode: 0o700 });
    for (const each of [path.dirname(folder), folder]) if (!isPrivate(each, fs.lstatSync(each))) return;
    module.enableCompileCache(folder);
  } catch {
    // No state folder yet, one that is read-only, or a file in its place: the command starts without.
  }
}

/** The state folder; undefined if another user can write in it. Throws if there is none. */
export function privateStateDir(env) {
  const stateDir = stateDirOf(env);
  return isPrivate(stateDir, fs.statSync(stateDir)) ? stateDir : undefined;
}

/** Where `resolveStateDir` of the core finds it, which is not loaded yet. */
function stateDirOf({ MEMSLOT_HOME: named = "", HOME, USERPROFILE }) {
  const home = HOME || USERPROFILE || os.homedir();
  if (named.trim() === "") return path.join(home, ".memslot");
  return path.resolve(named.replace(/^~(?=$|[/\\])/u, () => home));
}

function isPrivate(folder, stat) {
  if (!stat.isDirectory()) return false;
  // Windows has no such bits: what is below the home folder belongs to its user there.
  if (process.getuid === undefined) return path.resolve(folder).startsWith(path.resolve(os.homedir()) + path.sep);
  return stat.uid === process.getuid() && (stat.mode & 0o022) === 0;
}
