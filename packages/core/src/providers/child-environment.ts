/** What a program needs to run at all: where things are, what language is spoken, what the system wants. */
const needed = [
  ..."PATH HOME USER LOGNAME SHELL TERM LANG LANGUAGE TZ".split(" "),
  ..."TMPDIR TEMP TMP XDG_CACHE_HOME LD_LIBRARY_PATH DYLD_LIBRARY_PATH".split(" "),
  ..."SystemRoot SystemDrive windir ComSpec PATHEXT OS NUMBER_OF_PROCESSORS".split(" "),
  ..."PROCESSOR_ARCHITECTURE USERPROFILE HOMEDRIVE HOMEPATH APPDATA LOCALAPPDATA ProgramData".split(" "),
  ..."ProgramFiles ProgramFiles(x86) ProgramW6432".split(" "),
];

export const networkVariables: readonly string[] =
  "HTTP_PROXY HTTPS_PROXY ALL_PROXY NO_PROXY http_proxy https_proxy all_proxy no_proxy".split(" ");

/** Filters an environment for a child process: only listed variables, since others hold keys. */
export function childEnvironment(
  environment: Readonly<Record<string, string | undefined>>,
  also: readonly string[] = [],
): Record<string, string> {
  const fold = (name: string): string => (process.platform === "win32" ? name.toUpperCase() : name);
  const all = [...needed, "LC_*", ...also].map(fold);
  const names = new Set(all);
  const beginnings = all.filter((name) => name.endsWith("*")).map((name) => name.slice(0, -1));
  const isPassed = (name: string): boolean =>
    names.has(name) || beginnings.some((beginning) => name.startsWith(beginning));
  return Object.fromEntries(
    Object.entries(environment).filter(
      (entry): entry is [string, string] => entry[1] !== undefined && isPassed(fold(entry[0])),
    ),
  );
}
