import { addressOf } from "./address.ts";
import { openBucket } from "./bucket.ts";
import { openCloud } from "./cloud.ts";
import { openFolder } from "./folder.ts";
import { loadLibrary } from "./library.ts";
import type { LancePlace, OpenPlaceOptions } from "./place.ts";

/**
 * Opens the place that `dbPath` names. Throws `CONFIG` for an option that cannot be used, and `UNAVAILABLE` where
 * LanceDB does not load, or where the place cannot be reached or does not keep what several hosts write.
 */
export async function openPlace(options: OpenPlaceOptions): Promise<LancePlace> {
  const address = addressOf(options);
  const library = await loadLibrary();
  if (address.kind === "folder") return openFolder(library, address.folder, options.mayCreate);
  if (address.kind === "bucket") return openBucket(library, address, options);
  return openCloud(library, address, options);
}
