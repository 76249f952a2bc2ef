import type { VNode } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { OptionField } from "../../components/option-list.tsx";
import { moveFocus } from "../../components/shortcuts.ts";
import { useNotes } from "../../state/notes-list.ts";
import { goWith } from "../../state/page-address.ts";
import { answerTo } from "../../state/queries.ts";
import { t } from "../../words/translate.ts";
import { completions } from "./complete-query.ts";
import { remember, searchPath } from "./questions.ts";

/** Between two keyword searches while the user types; the first one does not wait. */
const betweenMs = 50;
/** After this pause the text is a query. Before that, or Enter, it is sent to no provider. */
const pauseMs = 350;

interface SearchFieldProps {
  asked: string;
  onSettled: (question: string) => void;
}

/** The search field: searches while typing, with a minimum interval; the query is in the address. */
export function SearchField({ asked, onSettled }: SearchFieldProps): VNode {
  const [typed, setTyped] = useState(asked);
  const [isComposing, setComposing] = useState(false);
  const [isClosed, setClosed] = useState(true);
  const last = useRef(asked);
  /** Confirmed with Enter: the next Enter opens the first result. */
  const confirmed = useRef<string | undefined>(undefined);
  const askedAt = useRef(0);
  const { data } = useNotes();
  const ask = (text = typed, typing = true): void => {
    last.current = text;
    askedAt.current = performance.now();
    const noLimits = { max: undefined, tokens: undefined, min: undefined };
    // The request leaves before the address changes and the view is rendered again.
    if (text.trim() !== "") answerTo(searchPath("/api/search", { q: text, typing, ...noLimits }));
    goWith({ q: text, ...noLimits }, { replace: true });
  };
  // With the render of its address: an effect after the frame would take newer letters for Back or a link.
  useLayoutEffect(() => {
    if (asked !== last.current) {
      setTyped(asked);
      onSettled(asked);
    }
    last.current = asked;
  }, [asked]);
  // Before the letter is painted: an effect after it would cost a frame.
  useLayoutEffect(() => {
    // An input method shows letters before it composes words.
    const pause = isComposing ? undefined : setTimeout(onSettled, pauseMs, typed);
    const wait = askedAt.current + betweenMs - performance.now();
    const key = typed === last.current ? undefined : wait > 0 ? setTimeout(ask, wait, typed) : ask();
    return () => {
      clearTimeout(pause);
      if (key !== undefined) clearTimeout(key);
    };
  }, [typed, isComposing]);
  const options = isClosed ? [] : completions(typed, data, setTyped);
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.isComposing) return;
    if (event.key === "Escape" && options.length > 0) setClosed(true);
    else if (event.key === "ArrowDown") moveFocus(".result h2 a", 1);
    else if (event.key !== "Enter") return;
    else if (typed === last.current && typed === confirmed.current)
      document.querySelector<HTMLElement>(".result h2 a")?.click();
    else {
      ask(typed, false);
      onSettled((confirmed.current = typed));
      remember(typed);
    }
    event.preventDefault();
  };
  return (
    <search class="question">
      <OptionField
        id="completions"
        label={t("search.completions")}
        options={options}
        first={-1}
        aria-label={t("search.field")}
        placeholder={t("search.field")}
        value={typed}
        onInput={({ currentTarget: { value }, isComposing: isPart }) => {
          if (!isPart && performance.now() > askedAt.current + betweenMs) ask(value);
          setTyped(value);
          setClosed(false);
        }}
        onBlur={() => setClosed(true)}
        onCompositionStart={() => setComposing(true)}
        onCompositionEnd={() => setComposing(false)}
        onKeyDown={onKeyDown}
      />
    </search>
  );
}
