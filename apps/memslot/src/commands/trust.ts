import { listTrusted, resolveStateDir, revokeTrust, trustConfig } from "@memslot/core";
import type { CommandContext } from "../command-context.ts";
import { ExitCode } from "../exit-code.ts";
import { printable } from "../printable.ts";
import { resolvePath } from "../resolve-path.ts";
import { UsageError } from "../usage-error.ts";

export interface TrustCommandOptions {
  list?: boolean;
  revoke?: boolean;
  json?: boolean;
}

/** `memslot trust`: vouches for a configuration file with the content that it has now. */
export async function trust(context: CommandContext, options: TrustCommandOptions, named?: string): Promise<number> {
  const { output, cwd, env } = context;
  const stateDir = resolveStateDir({ cwd, env });
  if (options.list === true) {
    if (options.revoke === true || named !== undefined)
      throw new UsageError("--list stands alone: it prints every file that is trusted");
    const records = await listTrusted({ stateDir });
    if (options.json === true) output.printJson(records);
    else if (records.length === 0) output.print("No configuration file is trusted yet.");
    else for (const { file, trustedAt } of records) output.print(`${printable(file)} (since ${trustedAt})`);
    return ExitCode.ok;
  }
  const file = resolvePath(named ?? context.configPath ?? "memslot.json5", cwd, env);
  if (options.revoke === true) {
    const revoked = await revokeTrust(file, { stateDir });
    if (options.json === true) output.printJson({ file, revoked });
    else output.print(revoked ? `${file} is trusted no longer.` : `${file} was not trusted.`);
    return ExitCode.ok;
  }
  const record = await trustConfig(file, { stateDir });
  if (options.json === true) output.printJson(record);
  else
    output.print(
      `${record.file} is trusted with the content that it has now. After a change it has to be trusted again.`,
    );
  return ExitCode.ok;
}
