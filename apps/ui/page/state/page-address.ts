import { computed, signal } from "@preact/signals";

/** The address without its origin. Every view has its own. */
const place = signal(location.pathname + location.search);

export const pathname = computed(() => new URL(place.value, location.origin).pathname);
export const query = computed(() => new URL(place.value, location.origin).searchParams);

export function go(to: string, { replace = false } = {}): void {
  if (to === place.value) return;
  if (replace) history.replaceState(null, "", to);
  else history.pushState(null, "", to);
  place.value = to;
}

/** Changes parts of the query and keeps the rest. */
export function goWith(changes: Readonly<Record<string, string | undefined>>, how?: { replace?: boolean }): void {
  const next = new URLSearchParams(query.value);
  for (const [name, value] of Object.entries(changes))
    if (value === undefined || value === "") next.delete(name);
    else next.set(name, value);
  go(pathname.value + (next.size > 0 ? `?${next}` : ""), how);
}

/** Follows Back and clicked links to this page. */
export function followPlaces(): void {
  addEventListener("popstate", () => (place.value = location.pathname + location.search));
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
