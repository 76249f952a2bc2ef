import type { ComponentType } from "preact";
import type { IconName } from "../components/common-components.tsx";
import type { WordName } from "../words/translate.ts";

export interface View {
  path: string;
  title: WordName;
  icon: IconName;
  /** Loads its code on first use. */
  load: () => Promise<{ default: ComponentType }>;
}

/** The views in their order. */
export const views: readonly View[] = [
  { path: "/", title: "nav.home", icon: "house", load: () => import("./home/home-view.tsx") },
  { path: "/search", title: "nav.search", icon: "search", load: () => import("./search/search-view.tsx") },
  { path: "/notes", title: "nav.notes", icon: "notebook-text", load: () => import("./notes/notes-view.tsx") },
  { path: "/changes", title: "nav.changes", icon: "history", load: () => import("./changes/changes-view.tsx") },
  { path: "/time", title: "nav.time", icon: "calendar-days", load: () => import("./time/time-view.tsx") },
  {
    path: "/sessions",
    title: "nav.sessions",
    icon: "messages-square",
    load: () => import("./sessions/sessions-view.tsx"),
  },
  { path: "/map", title: "nav.map", icon: "map", load: () => import("./map/map-view.tsx") },
  { path: "/health", title: "nav.health", icon: "activity", load: () => import("./health/health-view.tsx") },
];

export function viewAt(pathname: string): View | undefined {
  return views.find(({ path }) => pathname === path || (path !== "/" && pathname.startsWith(`${path}/`)));
}
