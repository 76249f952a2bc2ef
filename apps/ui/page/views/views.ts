import type { ComponentType } from "preact";
import type { WordName } from "../words/translate.ts";

export interface View {
  path: string;
  title: WordName;
  /** Loads its code on first use. */
  load: () => Promise<{ default: ComponentType }>;
}

/** The views in their order. */
export const views: readonly View[] = [
  { path: "/search", title: "nav.search", load: () => import("./search/search-view.tsx") },
  { path: "/notes", title: "nav.notes", load: () => import("./notes/notes-view.tsx") },
  { path: "/time", title: "nav.time", load: () => import("./time/time-view.tsx") },
  { path: "/map", title: "nav.map", load: () => import("./map/map-view.tsx") },
  { path: "/sessions", title: "nav.sessions", load: () => import("./sessions/sessions-view.tsx") },
  { path: "/health", title: "nav.health", load: () => import("./health/health-view.tsx") },
];

/** The view of an address. `/` is the first one. */
export function viewAt(pathname: string): View | undefined {
  return pathname === "/" ? views[0] : views.find(({ path }) => pathname === path || pathname.startsWith(`${path}/`));
}
