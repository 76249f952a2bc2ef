import type { CommandContext } from "../command-context.ts";
export async function hook(_context: CommandContext): Promise<number> {
  return 0;
}
