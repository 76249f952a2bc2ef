import { computed, signal } from "@preact/signals";
import { pathWith } from "./api-client.ts";

/** The address without its origin. Every view has its own. */
const place = signal(location.pathname + location.search);

export const pathname = computed(() => new URL(place.value, location.origin).pathname);
export const query = computed(() => new URL(place.value, location.origin).searchParams);

export function go(to: string, { replace = false } = {}): void {
  if (to === place.value) return;
  if (replace) history.replaceState(history.state, "", to);
  else {
    const focus = document.activeElement?.getAttribute("href") ?? undefined;
    history.replaceState({ scroll: scrollY, focus } satisfies Position, "");
    history.pushState(null, "", to);
  }
  place.value = to;
}

/** Where a page was left: kept in its entry of the history. */
interface Position {
  scroll: number;
  /** Address of the link that had the focus. */
  focus: string | undefined;
}

/** While answers are loading, the page is too short for its scroll. */
const restoreMs = 2000;

function restore({ scroll, focus }: Position): void {
  const until = performance.now() + restoreMs;
  const attempt = (): void => {
    const links = focus === undefined ? [] : [...document.querySelectorAll<HTMLElement>("main a")];
    const link = links.find((each) => each.getAttribute("href") === focus);
    const isReady = document.documentElement.scrollHeight >= scroll + innerHeight && (link ?? focus) === link;
    if (!isReady && performance.now() < until) return void requestAnimationFrame(attempt);
    link?.focus({ preventScroll: true });
    scrollTo(0, scroll);
  };
  requestAnimationFrame(attempt);
}

/** Changes parts of the query and keeps the rest. */
export function goWith(changes: Readonly<Record<string, string | undefined>>, how?: { replace?: boolean }): void {
  go(pathWith(pathname.value, { ...Object.fromEntries(query.value), ...changes }), how);
}

/** Follows Back and clicked links to this page. */
export function followPlaces(): void {
  history.scrollRestoration = "manual";
  addEventListener("popstate", ({ state }: PopStateEvent) => {
    place.value = location.pathname + location.search;
    if (state !== null) restore(state as Position);
  });
  addEventListener("click", (event) => {
    const link = event.target instanceof Element ? event.target.closest("a") : null;
    const isPlain = event.button === 0 && !event.metaKey && !event.ctrlKey && !event.shiftKey && !event.altKey;
    if (link === null || !isPlain || event.defaultPrevented || link.target !== "" || link.origin !== location.origin)
      return;
    const to = link.pathname + link.search;
    if (link.hash !== "" && to === place.value) return;
    event.preventDefault();
    go(to);
    document.querySelector("main")?.focus({ preventScroll: true });
    scrollTo(0, 0);
  });
}
