import { type TrustedCode } from "@memslot/core";
import { listTrusted, resolveStateDir, revokeTrust, trustConfig } from "@memslot/core/host";
import type { CommandContext } from "../command-context.ts";
import { ExitCode } from "../terminal/exit-code.ts";
import { printable } from "../terminal/printable.ts";
import { resolvePath } from "../open/resolve-path.ts";
import { UsageError } from "../terminal/usage-error.ts";

export interface TrustCommandOptions {
  list?: boolean;
  revoke?: boolean;
  json?: boolean;
}

export async function trust(context: CommandContext, options: TrustCommandOptions, named?: string): Promise<number> {
  const { output, cwd, env } = context;
  const stateDir = resolveStateDir({ cwd, env });
  if (options.list === true) {
    if (options.revoke === true || named !== undefined)
      throw new UsageError("--list takes no file and no --revoke: it prints every trusted file");
    const records = await listTrusted({ stateDir });
    if (options.json === true) output.printJson(records);
    else if (records.length === 0) output.print("No configuration file is trusted yet.");
    else
      for (const { file, trustedAt, code } of records) {
        output.print(`${printable(file)} (since ${trustedAt})`);
        for (const line of code.map(codeLine)) output.print(line);
      }
    return ExitCode.ok;
  }
  const file = resolvePath(named ?? context.configPath ?? "memslot.json5", cwd, env);
  if (options.revoke === true) {
    const revoked = await revokeTrust(file, { stateDir });
    if (options.json === true) output.printJson({ file, revoked });
    else output.print(revoked ? `${file} is no longer trusted.` : `${file} was not trusted.`);
    return ExitCode.ok;
  }
  const record = await trustConfig(file, { stateDir, env });
  if (options.json === true) output.printJson(record);
  else {
    const also = record.code.length === 0 ? "" : ", and so are its plugins";
    output.print(
      `${printable(record.file)} is trusted with its current content${also}. Trust it again after a change.`,
    );
    for (const line of record.code.map(codeLine)) output.print(line);
  }
  return ExitCode.ok;
}

function codeLine({ place, version, sha256, files }: TrustedCode): string {
  const count = files === 1 ? "1 file" : `${files} files`;
  const facts = [
    ...(version === undefined ? [] : [`version ${version}`]),
    ...(sha256 === undefined ? [] : [`${count}, sha256 ${sha256.slice(0, 16)}…`]),
  ];
  return printable(`  ${place}${facts.length === 0 ? "" : ` (${facts.join(", ")})`}`);
}
