import type { ServeUiOptions } from "./serve-ui.ts";

export type { ServeUiOptions } from "./serve-ui.ts";
export type { UiHost } from "./ui-host.ts";

/** Serves the page until `signal` is aborted. Throws `UNAVAILABLE` without a port or a built page. */
export async function serveUi(options: ServeUiOptions): Promise<void> {
  await (await import("./serve-ui.ts")).serveUi(options);
}
