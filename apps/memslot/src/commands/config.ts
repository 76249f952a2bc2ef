import type { CommandContext } from "../command-context.ts";
import { ExitCode } from "../terminal/exit-code.ts";
import { readConfig } from "../open/read-config.ts";

export interface ConfigCommandOptions {
  json?: boolean;
}

export async function config(context: CommandContext, options: ConfigCommandOptions): Promise<number> {
  const { output } = context;
  const settings = await readConfig(context, { lookAround: true });
  const entries = settings.describe();
  if (options.json === true) {
    output.printJson({ file: settings.file, stateDir: settings.stateDir, notices: settings.notices, entries });
    return ExitCode.ok;
  }
  output.print(`Configuration: ${settings.file ?? "no file, defaults only (memslot init creates one)"}`);
  output.print(`State folder:  ${settings.stateDir}\n`);
  const rows = entries.map(({ key, value, origin }) => ({
    left: `${key}: ${JSON.stringify(value) ?? "not set"}`,
    origin,
  }));
  const width = Math.min(72, Math.max(0, ...rows.map(({ left }) => left.length)));
  for (const { left, origin } of rows) output.print(`${left.padEnd(width)}  ${output.style("dim", origin)}`);
  return ExitCode.ok;
}
