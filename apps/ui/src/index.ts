export { type ServeUiOptions, serveUi } from "./serve-ui.ts";
export type { OtherSettings, UiHost } from "./ui-host.ts";
