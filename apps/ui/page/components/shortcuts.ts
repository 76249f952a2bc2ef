import { signal } from "@preact/signals";
import { useLayoutEffect, useRef } from "preact/hooks";
import type { WordName } from "../words/translate.ts";

export interface Shortcut {
  /** As in `KeyboardEvent.key`; `mod+k`: with Ctrl or ⌘. */
  keys: string;
  label: WordName;
  run: () => void;
}

/** Of the shell and the open view. The last one of a key wins. */
export const shortcuts = signal<readonly Shortcut[]>([]);

/** Shortcuts while a component is shown: listed under `?` and offered by the palette. */
export function useShortcuts(own: readonly Shortcut[]): void {
  const latest = useRef(own);
  latest.current = own;
  // Before the paint: a key that is pressed at once must not be lost.
  useLayoutEffect(() => {
    const mine = own.map((each, index) => ({ ...each, run: () => latest.current[index]?.run() }));
    shortcuts.value = [...shortcuts.peek(), ...mine];
    return () => {
      shortcuts.value = shortcuts.peek().filter((each) => !mine.includes(each));
    };
  }, [own.map(({ keys }) => keys).join(" ")]);
}

/** `j` and `k` move the focus between the elements of a selector. */
export function useFocusKeys(selector: string): void {
  useShortcuts([
    { keys: "j", label: "keys.next", run: () => moveFocus(selector, 1) },
    { keys: "k", label: "keys.previous", run: () => moveFocus(selector, -1) },
  ]);
}

/** Moves the focus between the elements of a selector, from the one in the same list item, or before the first one. */
export function moveFocus(selector: string, step: number): void {
  const all = [...document.querySelectorAll<HTMLElement>(selector)];
  const { activeElement: from } = document;
  const at = all.findIndex((each) => each === from || each.closest("li")?.contains(from));
  all[at + step]?.focus();
}

/** Arrow keys up and down move the focus as `moveFocus`. */
export function moveByArrows(event: KeyboardEvent, selector: string): void {
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (step === undefined) return;
  event.preventDefault();
  moveFocus(selector, step);
}

/** Runs the shortcut of a pressed key. Single keys are text in a field, and belong to an open dialog. */
export function followKeys(): void {
  addEventListener("keydown", (event) => {
    if (event.defaultPrevented || event.altKey || event.isComposing) return;
    const isMod = event.metaKey || event.ctrlKey;
    // The target itself is the host of an editor below a shadow root.
    if (!isMod && isTyping(event.composedPath()[0])) return;
    const keys = isMod ? `mod+${event.key.toLowerCase()}` : event.key;
    const found = shortcuts.value.findLast((each) => each.keys === keys);
    if (found === undefined) return;
    event.preventDefault();
    found.run();
  });
}

function isTyping(target: EventTarget | undefined): boolean {
  return target instanceof HTMLElement && target.closest("input, textarea, select, [contenteditable], dialog") !== null;
}
