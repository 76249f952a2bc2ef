import { getCompileCacheDir } from "node:module";
import path from "node:path";

/** What a thread takes over: the cache of compiled code, and the options of Node. */
export function handedDown(): { env?: NodeJS.ProcessEnv; execArgv?: string[] } {
  const cache = getCompileCacheDir();
  // The folder of this version of Node is below the one that is named.
  const env = cache === undefined ? {} : { env: { ...process.env, NODE_COMPILE_CACHE: path.dirname(cache) } };
  return { ...env, ...fittingOptions() };
}

/** Node passes options such as `--input-type=module` to workers, which refuse them with a file entry. */
function fittingOptions(): { execArgv?: string[] } {
  const given = process.execArgv;
  if (!given.some((argument) => argument.startsWith("--input-type"))) return {};
  const isCondition = (argument = ""): boolean => /^(?:--conditions|-C)(?:=|$)/.test(argument);
  return {
    execArgv: given.filter(
      (argument, index) =>
        isCondition(argument) || (isCondition(given[index - 1]) && given[index - 1]?.includes("=") === false),
    ),
  };
}
