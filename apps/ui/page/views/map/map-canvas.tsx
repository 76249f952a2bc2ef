import type { MemoryMap } from "@memslot/core";
import { select } from "d3-selection";
import { zoom as createZoom, zoomIdentity, type ZoomBehavior } from "d3-zoom";
import type { VNode } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { theme } from "../../state/preferences.ts";
import { t } from "../../words/translate.ts";
import { colourOf, drawLabels, type Label } from "./draw-labels.ts";
import { drawPoints } from "./draw-points.ts";
import { type Frame, pointAt, zoomTo } from "./map-viewport.ts";

interface PictureProps {
  map: MemoryMap;
  /** The kind of each point: an index of `colours`, which are names of CSS variables. */
  ofPoint: Uint8Array;
  colours: readonly string[];
  labels: readonly Label[];
  /** Points to zoom to whenever the list changes; none of them: the whole map. */
  shown: readonly number[];
  /** The point under the pointer, if any. */
  onHover: (index: number | undefined) => void;
  onOpen: (index: number) => void;
}

const reach = 12;
const step = 60;
const zoomStep = 1.4;
const mostZoom = 60;
const moveMs = 700;

/** The points, moved and zoomed with a pointer, two fingers, a wheel or keys. */
export function MapPicture({ map, ofPoint, colours, labels, shown, onHover, onOpen }: PictureProps): VNode {
  const top = useRef<HTMLCanvasElement>(null);
  const zoomer = useRef<ZoomBehavior<HTMLCanvasElement, unknown> | undefined>(undefined);
  /** The last map and the one before it, from which its points move. */
  const drawn = useRef({ map, from: map, since: -moveMs });
  const [frame, setFrame] = useState<Frame>({ width: 0, height: 0, zoom: zoomIdentity });
  /** What runs on the zoomed canvas. */
  const zoomed = (run: (by: ZoomBehavior<HTMLCanvasElement, unknown>, on: ReturnType<typeof onTop>) => void): void => {
    if (zoomer.current && top.current) run(zoomer.current, onTop(top.current));
  };

  useEffect(() => {
    const own = top.current;
    if (own === null) return undefined;
    const by = createZoom<HTMLCanvasElement, unknown>().scaleExtent([1, mostZoom]);
    by.on("zoom", ({ transform }: { transform: Frame["zoom"] }) => setFrame((now) => ({ ...now, zoom: transform })));
    zoomer.current = by;
    onTop(own).call(by).on("dblclick.zoom", null);
    const observer = new ResizeObserver(() => {
      const { clientWidth: width, clientHeight: height } = own;
      by.translateExtent([
        [0, 0],
        [width, height],
      ]);
      setFrame((now) => ({ ...now, width, height }));
    });
    observer.observe(own);
    return () => observer.disconnect();
  }, []);
  useEffect(() => zoomed((by, on) => by.transform(on, zoomTo(frame, map, shown, mostZoom))), [shown]);
  if (drawn.current.map !== map) {
    const { map: from } = drawn.current;
    const isStill = from.x.length !== map.x.length || matchMedia("(prefers-reduced-motion: reduce)").matches;
    drawn.current = { map, from, since: isStill ? -moveMs : performance.now() };
  }
  const shade = theme.value;
  useEffect(() => {
    const own = top.current;
    if (own === null || frame.width === 0) return undefined;
    const density = devicePixelRatio || 1;
    const [width, height] = [Math.round(frame.width * density), Math.round(frame.height * density)];
    if (own.width !== width || own.height !== height) Object.assign(own, { width, height });
    const look = {
      colours: colours.map((token) => colourOf(own, token)),
      size: Math.min(8, 3 + Math.sqrt(frame.zoom.k) / 2 + (map.x.length < 2_000 ? 2 : 0)),
    };
    const draw = (): void => {
      const part = Math.min(1, (performance.now() - drawn.current.since) / moveMs);
      const move = { from: drawn.current.from, part: part * part * (3 - 2 * part) };
      drawPoints(own, frame, map, ofPoint, look, move);
      drawLabels(own, frame, part < 1 ? [] : labels);
      if (part < 1) request = requestAnimationFrame(draw);
    };
    let request = requestAnimationFrame(draw);
    return () => cancelAnimationFrame(request);
  }, [frame, map, ofPoint, colours, labels, shade]);

  const under = (event: MouseEvent): number | undefined => pointAt(map, frame, [event.offsetX, event.offsetY], reach);
  const key = (event: KeyboardEvent): void => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const { k } = frame.zoom;
    const moves: Record<string, [name: "move" | "size", x: number, y?: number]> = {
      ArrowLeft: ["move", step, 0],
      ArrowRight: ["move", -step, 0],
      ArrowUp: ["move", 0, step],
      ArrowDown: ["move", 0, -step],
      "+": ["size", zoomStep],
      "=": ["size", zoomStep],
      "-": ["size", 1 / zoomStep],
      "0": ["size", 1 / k],
    };
    const [name, x, y] = moves[event.key] ?? [];
    if (name === undefined || x === undefined) return;
    event.preventDefault();
    zoomed((by, on) => (y === undefined ? by.scaleBy(on, x) : by.translateBy(on, x / k, y / k)));
  };
  return (
    <div class="map-picture" role="group" aria-label={t("map.picture")} tabIndex={0} onKeyDown={key}>
      <canvas
        ref={top}
        aria-hidden="true"
        onPointerMove={(event) => event.buttons === 0 && onHover(under(event))}
        onPointerLeave={() => onHover(undefined)}
        onClick={(event) => {
          // After a drag there is no click.
          const index = under(event);
          if (index !== undefined) onOpen(index);
        }}
      />
    </div>
  );
}

const onTop = (canvas: HTMLCanvasElement) => select<HTMLCanvasElement, unknown>(canvas);
