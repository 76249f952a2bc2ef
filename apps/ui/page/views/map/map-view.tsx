import type { MemoryMap } from "@memslot/core";
import type { VNode } from "preact";
import { useEffect, useMemo, useState } from "preact/hooks";
import { Empty, Failed, Loading } from "../../components/common-components.tsx";
import { ask, told } from "../../state/api-client.ts";
import { go } from "../../state/page-address.ts";
import { useQuery } from "../../state/queries.ts";
import { t } from "../../words/translate.ts";
import { noteHref } from "../notes/note-addresses.ts";
import { transcriptHref } from "../sessions/transcript-pane.tsx";
import { MapPicture } from "./map-canvas.tsx";
import { foldersOf, type Group, groupsOf } from "./map-groups.ts";
import { useFinerMap } from "./use-umap-layout.ts";

import "./map.css";

/** Passages of a group that are listed, and from which its words are taken. */
const sampled = 24;
const colours = Array.from({ length: 8 }, (_, index) => `--group-${index}`);

/** Passages as points: similar ones are close together. */
export default function MapView(): VNode {
  const { data, error } = useQuery<MemoryMap | null>("/api/map");
  if (error) return <Failed error={error} />;
  if (data === undefined) return <Loading />;
  if (data === null || data.note.length === 0)
    return (
      <Empty title={t(data === null ? "map.untold.title" : "map.empty.title")}>
        <p>{t(data === null ? "map.untold.text" : "map.empty.text")}</p>
      </Empty>
    );
  return <Drawn map={data} />;
}

function Drawn({ map: first }: { map: MemoryMap }): VNode {
  const { shown: map, isWorking } = useFinerMap(first);
  const [hovered, setHovered] = useState<number | undefined>(undefined);
  const [open, setOpen] = useState<{ group?: number; shown: readonly number[] }>({ shown: [] });
  const { kinds, ofPoint } = useMemo(() => foldersOf(map, { top: t("map.top"), others: t("map.others") }), [map]);
  const groups = useMemo(() => groupsOf(map), [map]);
  const words = useWords(map, groups);
  const labels = useMemo(() => {
    const ofGroups = groups.map(({ x, y }, index) => ({ x, y, text: words[index] ?? "" }));
    if (hovered === undefined) return ofGroups;
    return [{ x: map.x[hovered] ?? 0, y: map.y[hovered] ?? 0, text: placeOf(map, hovered) }, ...ofGroups];
  }, [map, groups, words, hovered]);
  const show = (group: number, members: readonly number[]): void => {
    // A tenth at the edge would make the others small.
    setOpen(group === open.group ? { shown: [] } : { group, shown: members.slice(0, Math.ceil(members.length * 0.9)) });
  };
  return (
    <>
      <h1>{t("map.title")}</h1>
      <p class="faint row">
        {t(`map.by.${map.by}`, { count: map.note.length, all: map.passages })}
        <button type="button" onClick={() => setOpen({ shown: [] })}>
          {t("map.whole")}
        </button>
        <span role="status">{t(isWorking ? "map.finer.working" : "map.finer")}</span>
      </p>
      <div class="map">
        <div>
          <MapPicture
            map={map}
            ofPoint={ofPoint}
            colours={colours}
            labels={labels}
            shown={open.shown}
            onHover={setHovered}
            onOpen={(index) => go(passageHref(map, index))}
          />
          <ul class="legend" aria-label={t("map.legend")}>
            {kinds.map((label, index) => (
              <li key={label}>
                <svg viewBox="0 0 10 10" width="10" height="10" aria-hidden="true">
                  <circle cx="5" cy="5" r="5" fill={`var(${colours[index]})`} />
                </svg>{" "}
                {label}
              </li>
            ))}
          </ul>
          <p class="faint">{t("map.keys")}</p>
        </div>
        <ul class="map-groups" aria-label={t("map.groups")}>
          {groups.map(({ members }, index) => (
            <li key={index}>
              <button
                type="button"
                class="quiet"
                aria-expanded={index === open.group}
                onClick={() => show(index, members)}
              >
                {words[index] || t("map.group.none")} <span class="faint">{members.length}</span>
              </button>
              {index === open.group && (
                <ul>
                  {members.slice(0, sampled).map((point) => (
                    <li key={point}>
                      <a href={passageHref(map, point)}>{placeOf(map, point)}</a>
                    </li>
                  ))}
                </ul>
              )}
            </li>
          ))}
        </ul>
      </div>
    </>
  );
}

/** The words of each group; those of the last groups until they come. */
function useWords(map: MemoryMap, groups: readonly Group[]): readonly string[] {
  const [words, setWords] = useState<readonly string[]>([]);
  useEffect(() => {
    const controller = new AbortController();
    const { signal } = controller;
    const passage = (index: number): string => `${placeOf(map, index)}-${map.endLine[index]}`;
    const body = { groups: groups.map(({ members }) => members.slice(0, sampled).map(passage)) };
    ask<readonly (readonly string[])[]>("/api/map/labels", { body, signal }).then(
      (answer) => setWords(answer.map((each) => each.join(" · "))),
      (error: unknown) => signal.aborted || told(error),
    );
    return () => controller.abort();
  }, [map, groups]);
  return words;
}

/** `path:12`. */
function placeOf({ notes, note, startLine }: MemoryMap, index: number): string {
  return `${notes[note[index] ?? -1]?.path}:${startLine[index]}`;
}

function passageHref({ notes, note, startLine }: MemoryMap, index: number): string {
  const { path = "", source } = notes[note[index] ?? -1] ?? {};
  return source === "memory" ? noteHref(path, { line: String(startLine[index]) }) : transcriptHref(path);
}
