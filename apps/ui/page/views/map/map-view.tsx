import type { VNode } from "preact";
import { useEffect, useMemo, useState } from "preact/hooks";
import type { MapAnswer } from "../../../src/api-types.ts";
import { Empty, Loading } from "../../components/common-components.tsx";
import { ask } from "../../state/api-client.ts";
import { go, goWith, query } from "../../state/page-address.ts";
import { useQuery } from "../../state/queries.ts";
import { t } from "../../words/translate.ts";
import { noteHref } from "../notes/note-addresses.ts";
import { transcriptHref } from "../sessions/transcript-pane.tsx";
import { MapPicture } from "./map-canvas.tsx";
import { folderOf, type Group, groupsOf, kindsOf, type Places } from "./map-groups.ts";
import type { FinePoints } from "./umap-layout.ts";

import "./map.css";

/** Passages of a group that are listed, and from which its words are taken. */
const sampled = 24;

/** Passages as points: similar ones are close together. */
export default function MapView(): VNode {
  const { data, error } = useQuery<MapAnswer | null>("/api/map");
  if (data === undefined) return <Loading error={error} />;
  if (data === null || data.note.length === 0)
    return (
      <Empty title={t(data === null ? "map.untold.title" : "map.empty.title")}>
        <p>{t(data === null ? "map.untold.text" : "map.empty.text")}</p>
      </Empty>
    );
  return <Drawn map={data} />;
}

function Drawn({ map: first }: { map: MapAnswer }): VNode {
  const { map, isWorking } = useFinerMap(first);
  const [hovered, setHovered] = useState<number | undefined>(undefined);
  const [shown, setShown] = useState<readonly number[]>([]);
  const hasTags = map.tags.some(({ length }) => length > 0);
  const by = hasTags && query.value.get("by") === "tag" ? "tag" : "folder";
  const { kinds, ofPoint } = useMemo(() => {
    const folders = map.notes.map(({ path }) => [folderOf(path, t("map.top"))]);
    return kindsOf(by === "tag" ? map.tags : folders, map.note, t("map.others"));
  }, [map, by]);
  const groups = useMemo(() => groupsOf(map), [map]);
  const words = useWords(map, groups);
  const labels = groups.map(({ x, y }, index) => ({ x, y, text: words[index] ?? "" }));
  if (hovered !== undefined)
    labels.unshift({ x: map.x[hovered] ?? 0, y: map.y[hovered] ?? 0, text: placeOf(map, hovered) });
  return (
    <>
      <h1>{t("map.title")}</h1>
      <p class="faint row">
        {t(`map.by.${map.by}`, { count: map.note.length, all: map.passages })}
        <button type="button" onClick={() => setShown([])}>
          {t("map.whole")}
        </button>
        <span role="status">{t(isWorking ? "map.finer.working" : "map.finer")}</span>
      </p>
      <div class="map">
        <div>
          <MapPicture
            places={map}
            kinds={ofPoint}
            labels={labels}
            shown={shown}
            onHover={setHovered}
            onOpen={(index) => go(passageHref(map, index))}
          />
          {hasTags && (
            <label class="row">
              {t("map.colour")}
              <select value={by} onChange={({ currentTarget: { value } }) => goWith({ by: value }, { replace: true })}>
                <option value="folder">{t("map.colour.folder")}</option>
                <option value="tag">{t("map.colour.tag")}</option>
              </select>
            </label>
          )}
          <ul class="legend" aria-label={t("map.legend")}>
            {kinds.map((label, index) => (
              <li key={label}>
                <i style={{ background: `var(--group-${index})` }} /> {label}
              </li>
            ))}
          </ul>
          <p class="faint">{t("map.keys")}</p>
        </div>
        <ul class="map-groups" aria-label={t("map.groups")}>
          {groups.map(({ members }, index) => (
            <li key={index}>
              <details name="map-group">
                <summary onClick={({ currentTarget }) => setShown(currentTarget.closest("[open]") ? [] : members)}>
                  {words[index] || t("map.group.none")} <span class="faint">{members.length}</span>
                </summary>
                <ul>
                  {members.slice(0, sampled).map((point) => (
                    <li key={point}>
                      <a href={passageHref(map, point)}>{placeOf(map, point)}</a>
                    </li>
                  ))}
                </ul>
              </details>
            </li>
          ))}
        </ul>
      </div>
    </>
  );
}

/** The map with a better layout, once it is computed. The last one stays until then. */
function useFinerMap(map: MapAnswer): { map: MapAnswer; isWorking: boolean } {
  const [finer, setFiner] = useState<{ of: MapAnswer; shown: MapAnswer }>();
  useEffect(() => {
    const worker = new Worker(new URL("./umap-worker.ts", import.meta.url), { type: "module" });
    const done = (places?: Places): void => setFiner({ of: map, shown: { ...map, ...places } });
    worker.addEventListener("message", ({ data }: MessageEvent<Places | undefined>) => done(data));
    worker.addEventListener("error", () => done());
    // Signed bytes in Base64.
    const values = Int8Array.from(atob(map.fine ?? ""), (sign) => (sign.charCodeAt(0) << 24) >> 24);
    worker.postMessage({ values, x: map.x, y: map.y } satisfies FinePoints);
    return () => worker.terminate();
  }, [map]);
  return { map: finer?.shown ?? map, isWorking: finer?.of !== map };
}

/** The words of each group; those of the last groups until they come. */
function useWords(map: MapAnswer, groups: readonly Group[]): readonly string[] {
  const [words, setWords] = useState<readonly string[]>([]);
  useEffect(() => {
    const controller = new AbortController();
    const passage = (index: number): string => `${placeOf(map, index)}-${map.endLine[index]}`;
    const body = { groups: groups.map(({ members }) => members.slice(0, sampled).map(passage)) };
    ask<readonly (readonly string[])[]>("/api/map/labels", { body, signal: controller.signal }).then(
      (answer) => setWords(answer.map((each) => each.join(" · "))),
      () => undefined,
    );
    return () => controller.abort();
  }, [map, groups]);
  return words;
}

/** `path:12`. */
function placeOf({ notes, note, startLine }: MapAnswer, index: number): string {
  return `${notes[note[index] ?? -1]?.path}:${startLine[index]}`;
}

function passageHref({ notes, note, startLine }: MapAnswer, index: number): string {
  const { path = "", source } = notes[note[index] ?? -1] ?? {};
  return source === "memory" ? noteHref(path, { line: String(startLine[index]) }) : transcriptHref(path);
}
