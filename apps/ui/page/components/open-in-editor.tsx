import type { VNode } from "preact";
import { facts } from "../state/api-client.ts";
import { choice } from "../state/preferences.ts";
import { t } from "../words/translate.ts";
import { Icon } from "./common-components.tsx";

export const editors = ["vscode", "cursor", "zed", "obsidian", "none"] as const;

/** The program that opens notes; kept in this browser. */
export const editor = choice("editor", editors, "vscode");

/** A link that opens a note of the workspace in the editor of the settings, at a line where the editor can. */
export function OpenInEditor({ path, line }: { path: string; line?: number | undefined }): VNode | null {
  const folder = facts.value?.workspaceDir;
  if (folder === undefined || editor.value === "none") return null;
  const file = `${folder.replaceAll("\\", "/")}/${path}`.split("/").map(encodeURIComponent).join("/");
  const address =
    editor.value === "obsidian"
      ? `obsidian://open?path=${encodeURIComponent(`${folder}/${path}`)}`
      : `${editor.value}://file/${file.replace(/^\//u, "")}${line === undefined ? "" : `:${line}`}`;
  return (
    <a class="button quiet" href={address}>
      <Icon name="external-link" />
      {t("common.openIn", { editor: t(`settings.editor.${editor.value}`) })}
    </a>
  );
}
