import type { VNode } from "preact";
import { t } from "../../words/translate.ts";

/** What happened in the memory, at a glance. */
export default function HomeView(): VNode {
  return <h1>{t("nav.home")}</h1>;
}
