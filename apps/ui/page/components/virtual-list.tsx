import type { HTMLAttributes, TargetedKeyboardEvent, VNode } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";

interface VirtualListProps<Item> extends Omit<HTMLAttributes<HTMLDivElement>, "children"> {
  items: readonly Item[];
  keyOf: (item: Item) => string | number;
  rowOf: (item: Item, index: number) => VNode;
  /** Estimated height of a row that was not shown yet, in pixels. */
  rowPixels: number;
  /** Index of a row that is always rendered, and scrolled into view when it changes. */
  current?: number | undefined;
}

/** Pixels above and below the visible part that are rendered too. */
const margin = 400;

/**
 * Thousands of rows of any height in a box that scrolls: only rows near the visible part are in the document, and the row
 * with the focus. A `list` unless another role is given; then the rows have their roles themselves.
 */
export function VirtualList<Item>({
  items,
  keyOf,
  rowOf,
  rowPixels,
  current = -1,
  ...attributes
}: VirtualListProps<Item>): VNode {
  const box = useRef<HTMLDivElement>(null);
  const heights = useRef(new Map<string | number, number>());
  const [view, setView] = useState({ top: 0, height: 600 });
  const last = useRef({ top: 0, width: 0 });
  const [focused, setFocused] = useState(-1);
  /** The row that is being scrolled to: heights on the way become known only when they are rendered. */
  const target = useRef(-1);
  useLayoutEffect(() => void (target.current = current), [current]);

  const tops = [0];
  for (const item of items) tops.push((tops.at(-1) ?? 0) + (heights.current.get(keyOf(item)) ?? rowPixels));
  const topOf = (index: number): number => tops[index] ?? 0;
  const top = Math.max(0, Math.min(view.top, topOf(items.length) - view.height));
  const shown: { item: Item; index: number }[] = [];
  for (const [index, item] of items.entries()) {
    const isNear = topOf(index + 1) > top - margin && topOf(index) < top + view.height + margin;
    if (isNear || index === current || index === focused) shown.push({ item, index });
  }

  const lookAt = ({ scrollTop, clientHeight, clientWidth }: HTMLElement): void => {
    // Hidden behind the detail, as on a phone.
    if (clientHeight === 0) return;
    if (clientWidth !== last.current.width) heights.current.clear();
    last.current = { top: scrollTop, width: clientWidth };
    setView({ top: scrollTop, height: clientHeight });
  };
  useLayoutEffect(() => {
    const element = box.current;
    if (element === null) return undefined;
    const observer = new ResizeObserver(() => {
      // A hidden box has lost its position in some browsers.
      if (element.clientHeight > 0 && element.scrollTop === 0) element.scrollTop = last.current.top;
      lookAt(element);
    });
    observer.observe(element);
    return () => observer.disconnect();
  }, []);

  useLayoutEffect(() => {
    const element = box.current;
    if (element === null || element.clientHeight === 0) return;
    let above = 0;
    let isChanged = false;
    for (const row of element.querySelectorAll<HTMLElement>(":scope > div > [data-index]")) {
      const index = Number(row.dataset["index"]);
      const item = items[index];
      const known = topOf(index + 1) - topOf(index);
      if (item === undefined || row.offsetHeight === known) continue;
      heights.current.set(keyOf(item), row.offsetHeight);
      isChanged = true;
      if (topOf(index + 1) <= element.scrollTop) above += row.offsetHeight - known;
    }
    if (target.current >= 0 && target.current < items.length) {
      const [start, end] = [topOf(target.current), topOf(target.current + 1)];
      if (start < element.scrollTop || end - start > element.clientHeight) element.scrollTop = start;
      else if (end > element.scrollTop + element.clientHeight) element.scrollTop = end - element.clientHeight;
    } else if (above !== 0) element.scrollTop += above;
    if (isChanged || element.scrollTop !== view.top) lookAt(element);
    else target.current = -1;
  });

  // The browser's own way there is an animation, which the heights of new rows would end.
  const onKeyDown = (event: TargetedKeyboardEvent<HTMLDivElement>): void => {
    const end = { Home: 0, End: items.length - 1 }[event.key];
    if (end === undefined || event.target !== event.currentTarget) return;
    event.preventDefault();
    target.current = end;
    lookAt(event.currentTarget);
  };
  const isList = attributes.role === undefined;
  return (
    <div
      role="list"
      onKeyDown={onKeyDown}
      {...attributes}
      ref={box}
      class={`virtual ${String(attributes.class ?? "")}`}
      onScroll={({ currentTarget }) => currentTarget.scrollTop !== last.current.top && lookAt(currentTarget)}
      onFocusIn={({ target: row }) =>
        setFocused(Number((row as Element).closest<HTMLElement>("[data-index]")?.dataset["index"] ?? -1))
      }
      onFocusOut={() => setFocused(-1)}
    >
      <div role="presentation" style={{ height: `${topOf(items.length)}px` }}>
        {shown.map(({ item, index }) => (
          <div
            key={keyOf(item)}
            data-index={index}
            style={{ top: `${topOf(index)}px` }}
            role={isList ? "listitem" : "presentation"}
            aria-posinset={isList ? index + 1 : undefined}
            aria-setsize={isList ? items.length : undefined}
          >
            {rowOf(item, index)}
          </div>
        ))}
      </div>
    </div>
  );
}
