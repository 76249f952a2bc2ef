/**
 * `node --input-type=module -e …` hands an option down that a worker with a file as its entry refuses. A list of one's
 * own must in turn not hold what is meant for the whole process, such as `--expose-gc`, so that is made only then.
 */
export function handedDown(): { execArgv?: string[] } {
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
