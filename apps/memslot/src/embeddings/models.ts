import { UsageError } from "../terminal/usage-error.ts";
import models from "./models.json" with { type: "json" };
import { resolvePath } from "../open/resolve-path.ts";

/** A model as `memslot embeddings on` offers it. */
export interface OfferedModel {
  /** As it is typed. */
  name: string;
  /** The value of `local.modelPath`. */
  address: string;
  /** Of the file that is fetched, in 10⁶ bytes. */
  megabytes: number;
  licence: string;
  languages: string;
}

/** The model that is chosen: one of those below, or any other, of which no more is known than its address. */
export type ChosenModel = Pick<OfferedModel, "name" | "address"> & Partial<OfferedModel>;

/**
 * The first one is the default: that of `provider: "local"` where no model is named. Sizes and licences are those of the
 * files on huggingface.co, looked up in November 2026.
 */
export const offeredModels = models as unknown as readonly [OfferedModel, ...OfferedModel[]];

/** Gives what was typed its meaning. Throws `UsageError` for what is neither a name, nor a file, nor an address. */
export function chooseModel(typed: string | undefined, where: { cwd: string; env: NodeJS.ProcessEnv }): ChosenModel {
  const [usual] = offeredModels;
  const text = typed?.trim() ?? usual.name;
  const offered = offeredModels.find(({ name }) => name === text.toLowerCase());
  if (offered !== undefined) return offered;
  if (/^(?:hf|https?):/iu.test(text)) return modelAt(text);
  if (/\.gguf$/iu.test(text)) return modelAt(resolvePath(text, where.cwd, where.env));
  const names = offeredModels.map(({ name }) => name).join(", ");
  throw new UsageError(
    `"${text}" is no model that is known here: name one of ${names}, a .gguf file, hf:user/repository/file.gguf or an https address`,
  );
}

/** What is known of the model at an address: that of `local.modelPath`, or where that is not set. */
export function modelAt(address: string | undefined): ChosenModel {
  const [usual] = offeredModels;
  if (address === undefined) return usual;
  // The same file may lie elsewhere, as on a mirror or where somebody has put it.
  const offered = offeredModels.find((model) => nameOf(model.address) === nameOf(address));
  return offered === undefined ? { name: nameOf(address), address, ...licenceOf(address) } : { ...offered, address };
}

/** The name of the file. What stands behind a question mark may be a signature. */
function nameOf(address: string): string {
  return (address.split(/[?#]/u)[0] ?? "").split(/[/\\]/u).at(-1) ?? address;
}

function licenceOf(address: string): { licence?: string } {
  const [, user, repository] = /^hf:([^/]+)\/([^/]+)\//u.exec(address) ?? [];
  if (user === undefined) return {};
  return { licence: `see https://huggingface.co/${user}/${repository}` };
}
