/** Node passes options such as `--input-type=module` to workers, which refuse them with a file entry. */
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
