import type { VNode } from "preact";
import { useEffect, useState } from "preact/hooks";
import { Icon, type IconName } from "./common-components.tsx";

export interface Option {
  id: string;
  text: string;
  /** Beside the text. */
  hint?: string | VNode | undefined;
  icon?: IconName | undefined;
  run: () => void;
}

interface OptionList {
  /** Attributes of the field. */
  field: Record<string, unknown>;
  /** Handles a key of the field; false: none of the list. */
  onKey: (event: KeyboardEvent) => boolean;
  list: VNode | null;
}

interface ListOptions {
  id: string;
  label: string;
  options: readonly Option[];
  /** Index that is chosen at first; -1: none, so that Enter stays with the field. */
  first: 0 | -1;
}

/** Options below a field, which keeps the focus: arrow keys choose one, Enter and Tab take it. */
export function useOptionList({ id, label, options, first }: ListOptions): OptionList {
  const [chosen, choose] = useState<number>(first);
  const names = options.map((option) => option.id).join("\n");
  useEffect(() => choose(first), [names]);
  const at = Math.min(chosen, options.length - 1);
  useEffect(() => document.querySelector(`#${id}-${at}`)?.scrollIntoView({ block: "nearest" }), [at]);
  const isOpen = options.length > 0;
  const onKey = (event: KeyboardEvent): boolean => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    const option = options[at];
    if (!isOpen || event.isComposing) return false;
    if (step !== undefined) choose((at + step + options.length) % options.length);
    else if ((event.key === "Enter" || event.key === "Tab") && option !== undefined) option.run();
    else return false;
    event.preventDefault();
    return true;
  };
  return {
    field: {
      role: "combobox",
      autoComplete: "off",
      spellcheck: false,
      "aria-expanded": isOpen,
      "aria-controls": id,
      "aria-activedescendant": isOpen && at >= 0 ? `${id}-${at}` : undefined,
    },
    onKey,
    list: isOpen ? (
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
    ) : null,
  };
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
