import { UsageError } from "../terminal/exit-code.ts";
import models from "./models.json" with { type: "json" };
import { resolvePath } from "../open/find-notes-folder.ts";

/** A model that `memslot embeddings on` offers. */
export interface OfferedModel {
  name: string;
  address: string;
  /** Size of the download, in 10⁶ bytes. */
  megabytes: number;
  licence: string;
  languages: string;
}

/** The chosen model: an offered one, or any other with only its address known. */
export type ChosenModel = Pick<OfferedModel, "name" | "address"> & Partial<OfferedModel>;

/** The first is the default of `provider: "local"`. Sizes and licences: huggingface.co, November 2026. */
export const offeredModels = models as unknown as readonly [OfferedModel, ...OfferedModel[]];

/** The model for a typed name, file or address. Throws `UsageError` for anything else. */
export function chooseModel(typed: string | undefined, where: { cwd: string; env: NodeJS.ProcessEnv }): ChosenModel {
  const [usual] = offeredModels;
  const text = typed?.trim() ?? usual.name;
  const offered = offeredModels.find(({ name }) => name === text.toLowerCase());
  if (offered !== undefined) return offered;
  if (/^(?:hf|https?):/iu.test(text)) return modelAt(text);
  if (/\.gguf$/iu.test(text)) return modelAt(resolvePath(text, where.cwd, where.env));
  const names = offeredModels.map(({ name }) => name).join(", ");
  throw new UsageError(
    `"${text}" is not a known model: use one of ${names}, a .gguf file, hf:user/repository/file.gguf or an https address`,
  );
}

/** The model at an address of `local.modelPath`, or the default if it is not set. */
export function modelAt(address: string | undefined): ChosenModel {
  const [usual] = offeredModels;
  if (address === undefined) return usual;
  // The same file may be on a mirror or in a local folder.
  const offered = offeredModels.find((model) => nameOf(model.address) === nameOf(address));
  return offered === undefined ? { name: nameOf(address), address, ...licenceOf(address) } : { ...offered, address };
}

/** The file name. The query of the address may be a signature. */
function nameOf(address: string): string {
  return (address.split(/[?#]/u)[0] ?? "").split(/[/\\]/u).at(-1) ?? address;
}

function licenceOf(address: string): { licence?: string } {
  const [, user, repository] = /^hf:([^/]+)\/([^/]+)\//u.exec(address) ?? [];
  if (user === undefined) return {};
  return { licence: `see https://huggingface.co/${user}/${repository}` };
}
