import type { MemoryMap, NearPassage } from "@memslot/core";
import type { VNode } from "preact";
import { useEffect, useMemo, useState } from "preact/hooks";
import { Empty, Failed, Loading } from "../../components/common-components.tsx";
import { pathWith } from "../../state/api-client.ts";
import { useQuery } from "../../state/queries.ts";
import { goWith, query } from "../../state/page-address.ts";
import { t } from "../../words/translate.ts";
import { type ColourBy, kindsOf } from "./draw-map.ts";
import { type Frame, nearestPoints, wholeFrame } from "./map-viewport.ts";
import { MapPicture } from "./map-canvas.tsx";
import { NearPane, passageHref } from "./similar-passages.tsx";
import { useFinerMap } from "./use-umap-layout.ts";

import "./map.css";

const listed = 12;
/** A pointer that only passes over causes no request. */
const restMs = 150;
const nothing: readonly number[] = [];

/** Passages as points: similar ones are close together. */
export default function MapView(): VNode {
  const asked = query.value.get("q") ?? "";
  const { data, error } = useQuery<MemoryMap | null>(pathWith("/api/map", { q: asked }), { keep: true });
  if (error) return <Failed error={error} />;
  if (data === undefined) return <Loading />;
  if (data === null || data.note.length === 0)
    return (
      <Empty title={t(data === null ? "map.untold.title" : "map.empty.title")}>
        <p>{t(data === null ? "map.untold.text" : "map.empty.text")}</p>
      </Empty>
    );
  return <Drawn map={data} asked={asked} />;
}

function Drawn({ map: first, asked }: { map: MemoryMap; asked: string }): VNode {
  const { finer, isWorking } = useFinerMap(first, asked);
  const map = finer ?? first;
  const [frame, setFrame] = useState<Frame | undefined>(undefined);
  const [chosen, setChosen] = useState<number | undefined>(undefined);
  const [hovered, setHovered] = useState<number | undefined>(undefined);
  const by: ColourBy = query.value.get("by") === "age" ? "age" : "source";
  const { kinds, ofPoint } = useMemo(() => kindsOf(map, by), [map, by]);
  const places = useMemo(() => new Map(map.note.map((_, index) => [placeOf(map, index), index])), [map]);
  const focus = hovered ?? chosen;
  const of = focus === undefined ? undefined : passageAt(map, focus);
  const near = useQuery<readonly NearPassage[]>(
    useRested(of && pathWith("/api/map/near", { path: of.path, line: of.startLine })),
    { keep: true },
  );
  const points = useMemo(
    () => near.data?.flatMap(({ path, startLine }) => places.get(`${path}\n${startLine}`) ?? []) ?? nothing,
    [near.data, places],
  );
  const inMiddle = frame
    ? nearestPoints(map, frame, [frame.width / 2, frame.height / 2], { count: listed, most: frame.width })
    : [];
  return (
    <>
      <h1>{t("map.title")}</h1>
      <Bar asked={asked} by={by} onWhole={() => frame && setFrame(wholeFrame(frame.width, frame.height))} />
      <p class="faint">
        {t(`map.by.${map.by}`, { count: map.note.length, all: map.passages })}
        {asked !== "" && ` ${t(map.query === undefined ? "map.query.none" : "map.query")}`}
      </p>
      <p class="faint" role="status">
        {isWorking ? t("map.finer.working") : finer && t("map.finer")}
      </p>
      <div class="map">
        <div>
          <MapPicture
            map={map}
            kinds={kinds}
            ofPoint={ofPoint}
            focus={focus}
            near={points}
            frame={frame}
            onFrame={setFrame}
            onHover={setHovered}
            onChoose={setChosen}
          />
          <ul class="legend" aria-label={t("map.legend")}>
            {kinds.map(({ label, colour }) => (
              <li key={label}>
                <svg viewBox="0 0 10 10" width="10" height="10" aria-hidden="true">
                  <rect width="10" height="10" fill={`var(${colour})`} />
                </svg>{" "}
                {label}
              </li>
            ))}
          </ul>
          <p class="faint">{t("map.keys")}</p>
        </div>
        <div>
          {of === undefined ? <p class="faint">{t("map.choose")}</p> : <NearPane of={of} near={near} />}
          <section>
            <h2>{t("map.middle")}</h2>
            <ul class="map-list">
              {inMiddle.map((index) => {
                const { path, source, startLine } = passageAt(map, index);
                return (
                  <li key={index}>
                    <button
                      type="button"
                      class="quiet"
                      aria-pressed={index === chosen}
                      onClick={() => setChosen(index === chosen ? undefined : index)}
                    >
                      {path}:{startLine}
                    </button>{" "}
                    <a href={passageHref(source, path, startLine)}>{t("map.open")}</a>
                  </li>
                );
              })}
            </ul>
          </section>
        </div>
      </div>
    </>
  );
}

function Bar({ asked, by, onWhole }: { asked: string; by: ColourBy; onWhole: () => void }): VNode {
  const [typed, setTyped] = useState(asked);
  return (
    <form
      class="row"
      onSubmit={(event) => {
        event.preventDefault();
        goWith({ q: typed });
      }}
    >
      <input
        type="search"
        aria-label={t("map.ask")}
        placeholder={t("map.ask")}
        value={typed}
        onInput={(event) => setTyped(event.currentTarget.value)}
      />
      <button type="submit">{t("map.draw")}</button>
      <label>
        {t("map.colour")}{" "}
        <select value={by} onChange={(event) => goWith({ by: event.currentTarget.value }, { replace: true })}>
          <option value="source">{t("map.colour.source")}</option>
          <option value="age">{t("map.colour.age")}</option>
        </select>
      </label>
      <button type="button" onClick={onWhole}>
        {t("map.whole")}
      </button>
    </form>
  );
}

/** The value after it stayed the same for a while. */
function useRested(value: string | undefined): string | undefined {
  const [rested, setRested] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => setRested(value), restMs);
    return () => clearTimeout(timer);
  }, [value]);
  return rested;
}

function passageAt(map: MemoryMap, index: number): Parameters<typeof NearPane>[0]["of"] {
  const { path = "", source = "", day = "" } = map.notes[map.note[index] ?? -1] ?? {};
  return { path, source, day, startLine: map.startLine[index] ?? 1, endLine: map.endLine[index] ?? 1 };
}

function placeOf(map: MemoryMap, index: number): string {
  return `${map.notes[map.note[index] ?? -1]?.path}\n${map.startLine[index]}`;
}
