import { changeConfigFile } from "../change-file.ts";
import { type ConfigEdit, editConfigText } from "./edit-text.ts";

/** What a file begins with that is made. */
export const newConfigText = `// The configuration of memslot, in JSON5: comments and commas at the end are fine.
// \`memslot config\` shows every key, its value and where it comes from.
{
}
`;

/**
 * Makes changes in a configuration file and leaves everything else in it as it is, to the byte; a file that is not there
 * is made. Throws `CONFIG` where it cannot be read, written, or changed without changing something else.
 */
export async function editConfigFile(
  file: string,
  edits: readonly ConfigEdit[],
  { stateDir }: { stateDir: string },
): Promise<void> {
  await changeConfigFile(file, (text = newConfigText) => editConfigText(text, edits), { stateDir });
}
