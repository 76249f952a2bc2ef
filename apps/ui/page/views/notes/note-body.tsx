import type { VNode } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { Loading } from "../../components/common-components.tsx";
import { t } from "../../words/translate.ts";
import type { linesOf } from "./note-addresses.ts";
import { FrontMatter } from "./front-matter.tsx";
import { Markdown, type NoteText, useMarkdown } from "./passage.tsx";

/** A note as a preview, with lines and passages in the margin, scrolled to the first of the lines `asked`. */
export function NoteBody({ asked, ...note }: NoteText & { asked: ReturnType<typeof linesOf> }): VNode {
  const body = useRef<HTMLDivElement>(null);
  const blocks = useMarkdown(note);
  const isRendered = blocks !== undefined;
  useEffect(() => {
    const target = body.current?.querySelector(".asked");
    const pane = target?.closest(".detail");
    // In a pane beside a list, the list must not scroll.
    if (target && pane && pane.scrollHeight > pane.clientHeight)
      pane.scrollTop += target.getBoundingClientRect().top - pane.getBoundingClientRect().top - pane.clientHeight / 3;
    else target?.scrollIntoView({ block: "center" });
  }, [asked?.[0], isRendered, note.text]);
  if (!isRendered) return <Loading />;
  return (
    <div ref={body} class="rendered">
      <FrontMatter text={note.text} />
      {blocks.map((block, index) => {
        const { from, to } = block;
        const isAsked = asked !== undefined && asked[0] <= to && asked[1] >= from;
        const begun = note.facts?.passages.find(({ startLine }) => startLine >= from && startLine <= to);
        const label = begun && t("notes.passage", { from: begun.startLine, to: begun.endLine });
        return (
          <div key={index} class={isAsked ? "asked block" : "block"}>
            <span class="margin">
              <span class="line-number">{from}</span>
              {label !== undefined && (
                <span class="passage-mark" role="img" title={label} aria-label={label}>
                  ¶
                </span>
              )}
            </span>
            <Markdown blocks={[block]} />
          </div>
        );
      })}
    </div>
  );
}
