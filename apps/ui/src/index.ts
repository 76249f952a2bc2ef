import type { ServeUiOptions } from "./serve-ui.ts";

export type { ServeUiOptions } from "./serve-ui.ts";
export type { OtherSettings, UiHost } from "./ui-host.ts";

/**
 * Serves the page until `signal` is aborted. Throws `UNAVAILABLE` where the port cannot be had or the page is not built. The server is
 * loaded with the first call.
 */
export async function serveUi(options: ServeUiOptions): Promise<void> {
  await (await import("./serve-ui.ts")).serveUi(options);
}
