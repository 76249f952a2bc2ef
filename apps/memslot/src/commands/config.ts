import type { TrustedCode } from "@memslot/core";
import { listTrusted, resolveStateDir, revokeTrust, trustConfig } from "@memslot/core/host";
import type { CommandContext, CommonOptions } from "../command-context.ts";
import { ExitCode, UsageError } from "../terminal/exit-code.ts";
import { readConfig } from "../open/read-config.ts";
import { printable } from "../terminal/output.ts";
import { resolvePath } from "../open/find-notes-folder.ts";

export async function config(context: CommandContext, options: CommonOptions): Promise<number> {
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

export interface TrustCommandOptions extends CommonOptions {
  list?: boolean;
  revoke?: boolean;
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
