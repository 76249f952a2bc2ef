import type { HTMLAttributes, TargetedKeyboardEvent, VNode } from "preact";
import { useLayoutEffect, useState } from "preact/hooks";
import { Icon, type IconName } from "./common-components.tsx";

export interface Option {
  id: string;
  text: string;
  /** Beside the text. */
  hint?: string | VNode | undefined;
  icon?: IconName | undefined;
  run: () => void;
}

interface OptionFieldProps extends Omit<HTMLAttributes<HTMLInputElement>, "id" | "role"> {
  value: string;
  placeholder: string;
  /** Of the list. */
  id: string;
  /** Name of the list. */
  label: string;
  options: readonly Option[];
  /** Index that is chosen at first; -1: none, so that Enter stays with the field. */
  first: 0 | -1;
}

/**
 * A field with options below it, which keeps the focus: arrow keys choose one, Enter and Tab take it. `onKeyDown` gets the
 * other keys.
 */
export function OptionField({ id, label, options, first, onKeyDown, ...input }: OptionFieldProps): VNode {
  const [chosen, choose] = useState<number>(first);
  const names = options.map((option) => option.id).join("\n");
  useLayoutEffect(() => choose(first), [names]);
  const at = Math.min(chosen, options.length - 1);
  useLayoutEffect(() => document.querySelector(`#${id}-${at}`)?.scrollIntoView({ block: "nearest" }), [at]);
  const isOpen = options.length > 0;
  const onKey = (event: TargetedKeyboardEvent<HTMLInputElement>): void => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    const taken = event.key === "Enter" || event.key === "Tab" ? options[at] : undefined;
    if (!isOpen || event.isComposing || (step ?? taken) === undefined) return onKeyDown?.(event);
    if (step !== undefined) choose((at + step + options.length) % options.length);
    taken?.run();
    event.preventDefault();
  };
  return (
    <>
      <input
        autoFocus
        type="search"
        role="combobox"
        // The types allow this role with it only.
        list={undefined}
        autoComplete="off"
        spellcheck={false}
        aria-expanded={isOpen}
        aria-controls={id}
        aria-activedescendant={isOpen && at >= 0 ? `${id}-${at}` : undefined}
        {...input}
        onKeyDown={onKey}
      />
      {isOpen && (
        <ul class="options plain" role="listbox" id={id} aria-label={label}>
          {options.map(({ id: key, text, hint, icon, run }, index) => (
            <li
              key={key}
              id={`${id}-${index}`}
              class="item"
              role="option"
              aria-selected={index === at}
              onMouseDown={(event) => event.preventDefault()}
              onClick={run}
            >
              {icon && <Icon name={icon} />}
              <span class="line">{text}</span>
              {hint !== undefined && <span class="faint small line hint">{hint}</span>}
            </li>
          ))}
        </ul>
      )}
    </>
  );
}

/** Items that contain every word of a text, those that begin with it first. */
export function matching<Item>(items: readonly Item[], text: string, namesOf: (item: Item) => string): Item[] {
  const words = text.toLocaleLowerCase().split(/\s+/u).filter(Boolean);
  const fits = items.filter((item) => words.every((word) => namesOf(item).toLocaleLowerCase().includes(word)));
  const begins = (item: Item): boolean =>
    namesOf(item)
      .toLocaleLowerCase()
      .startsWith(words[0] ?? "");
  return [...fits.filter(begins), ...fits.filter((item) => !begins(item))];
}
