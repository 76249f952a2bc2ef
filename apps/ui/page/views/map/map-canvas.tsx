import { type Selection, select } from "d3-selection";
import { zoom as createZoom, zoomIdentity } from "d3-zoom";
import type { VNode } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { theme } from "../../state/preferences.ts";
import { t } from "../../words/translate.ts";
import { drawLabels, drawPoints, type Frame, type Label, mostZoom, pointAt, zoomTo } from "./draw-map.ts";
import type { Places } from "./map-groups.ts";

interface PictureProps {
  places: Places;
  /** The kind of each point, which is its colour. */
  kinds: Uint8Array;
  labels: readonly Label[];
  /** Points to zoom to whenever the list changes; none of them: the whole map. */
  shown: readonly number[];
  /** The point under the pointer, if any. */
  onHover: (index: number | undefined) => void;
  onOpen: (index: number) => void;
}

const step = 60;
/** Keys that move the map, and those that zoom it; 0 shows all. */
const moves: Record<string, [x: number, y: number]> = {
  ArrowLeft: [step, 0],
  ArrowRight: [-step, 0],
  ArrowUp: [0, step],
  ArrowDown: [0, -step],
};
const factors: Record<string, number> = { "+": 1.4, "=": 1.4, "-": 1 / 1.4, 0: 0 };
const zoomBehavior = createZoom<HTMLCanvasElement, unknown>().scaleExtent([1, mostZoom]);
const constrain = zoomBehavior.constrain();
// The map is not moved out of the picture.
zoomBehavior.constrain((transform, extent) => constrain(transform, extent, extent));

/** The points, moved and zoomed with a pointer, two fingers, a wheel or keys. */
export function MapPicture({ places, kinds, labels, shown, onHover, onOpen }: PictureProps): VNode {
  const canvas = useRef<HTMLCanvasElement>(null);
  const on = (): Selection<HTMLCanvasElement, unknown, null, undefined> => select(canvas.current as HTMLCanvasElement);
  const [frame, setFrame] = useState<Frame>({ width: 0, height: 0, zoom: zoomIdentity });

  useEffect(() => {
    const own = canvas.current;
    if (own === null) return undefined;
    zoomBehavior.on("zoom", ({ transform }: { transform: Frame["zoom"] }) =>
      setFrame((now) => ({ ...now, zoom: transform })),
    );
    on().call(zoomBehavior).on("dblclick.zoom", null);
    const observer = new ResizeObserver(() => {
      const { clientWidth: width, clientHeight: height } = own;
      setFrame((now) => ({ ...now, width, height }));
    });
    observer.observe(own);
    return () => observer.disconnect();
  }, []);
  useEffect(() => zoomBehavior.transform(on(), zoomTo(frame, places, shown)), [shown]);
  const shade = theme.value;
  useEffect(() => {
    const own = canvas.current;
    if (own === null || frame.width === 0) return undefined;
    const density = devicePixelRatio || 1;
    const [width, height] = [Math.round(frame.width * density), Math.round(frame.height * density)];
    if (own.width !== width || own.height !== height) Object.assign(own, { width, height });
    const request = requestAnimationFrame(() => {
      drawPoints(own, frame, places, kinds);
      drawLabels(own, frame, labels);
    });
    return () => cancelAnimationFrame(request);
  }, [frame, places, kinds, labels, shade]);

  const under = ({ offsetX, offsetY }: MouseEvent): number | undefined => pointAt(places, frame, offsetX, offsetY);
  const press = (event: KeyboardEvent): void => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const [move, factor] = [moves[event.key], factors[event.key]];
    if (move) zoomBehavior.translateBy(on(), move[0] / frame.zoom.k, move[1] / frame.zoom.k);
    else if (factor !== undefined) zoomBehavior.scaleBy(on(), factor);
    else return;
    event.preventDefault();
  };
  return (
    <canvas
      ref={canvas}
      class="map-picture"
      role="group"
      aria-label={t("map.picture")}
      tabIndex={0}
      onKeyDown={press}
      onPointerMove={(event) => event.buttons === 0 && onHover(under(event))}
      onPointerLeave={() => onHover(undefined)}
      onClick={(event) => {
        // After a drag there is no click.
        const index = under(event);
        if (index !== undefined) onOpen(index);
      }}
    />
  );
}
