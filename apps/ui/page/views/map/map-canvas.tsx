import type { VNode } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { theme } from "../../state/preferences.ts";
import { t } from "../../words/translate.ts";
import { type Drawn, drawMap } from "./draw-map.ts";
import { type Frame, nearestPoints, panned, wholeFrame, zoomed } from "./map-viewport.ts";

interface PictureProps extends Drawn {
  frame: Frame | undefined;
  onFrame: (frame: Frame) => void;
  /** The point under the pointer, if any. */
  onHover: (index: number | undefined) => void;
  onChoose: (index: number | undefined) => void;
}

const reach = 12;
const step = 60;
const zoomStep = 1.4;
/** Less movement, in pixels, is a click and not a drag. */
const still = 4;

/** The points, moved and zoomed with a pointer, two fingers, a wheel or keys. */
export function MapPicture({ frame, onFrame, onHover, onChoose, ...drawn }: PictureProps): VNode {
  const canvas = useRef<HTMLCanvasElement>(null);
  const latest = useRef({ frame, onFrame });
  latest.current = { frame, onFrame };
  const pointers = useRef(new Map<number, [number, number]>());
  const moved = useRef(0);
  const { map } = drawn;

  useEffect(() => {
    const own = canvas.current;
    if (own === null) return undefined;
    const fit = (): void => {
      const { clientWidth: width, clientHeight: height } = own;
      const { frame: now, onFrame: tell } = latest.current;
      if (now?.width !== width || now.height !== height)
        tell(now ? { ...now, width, height } : wholeFrame(width, height));
    };
    const observer = new ResizeObserver(fit);
    observer.observe(own);
    // Preact listens passively, and the page must not scroll.
    const wheel = (event: WheelEvent): void => {
      event.preventDefault();
      const { frame: now, onFrame: tell } = latest.current;
      if (now) tell(zoomed(now, Math.exp(-event.deltaY / 400), event.offsetX, event.offsetY));
    };
    own.addEventListener("wheel", wheel, { passive: false });
    return () => {
      observer.disconnect();
      own.removeEventListener("wheel", wheel);
    };
  }, []);

  const shade = theme.value;
  useEffect(() => {
    const own = canvas.current;
    if (own === null || frame === undefined) return undefined;
    const request = requestAnimationFrame(() => drawMap(own, frame, drawn));
    return () => cancelAnimationFrame(request);
  }, [frame, map, drawn.ofPoint, drawn.focus, drawn.near, shade]);

  const under = (at: readonly [number, number]): number | undefined =>
    frame && nearestPoints(map, frame, at, { count: 1, most: reach })[0];

  const move = (event: PointerEvent): void => {
    const at: [number, number] = [event.offsetX, event.offsetY];
    const before = pointers.current.get(event.pointerId);
    if (frame === undefined) return;
    if (before === undefined) return onHover(under(at));
    const other = [...pointers.current].find(([id]) => id !== event.pointerId)?.[1];
    pointers.current.set(event.pointerId, at);
    moved.current += Math.hypot(at[0] - before[0], at[1] - before[1]);
    if (other === undefined) return onFrame(panned(frame, at[0] - before[0], at[1] - before[1]));
    const [was, is] = [before, at].map(([x, y]) => Math.hypot(x - other[0], y - other[1]));
    if (was && is) onFrame(zoomed(frame, is / was, (at[0] + other[0]) / 2, (at[1] + other[1]) / 2));
  };

  const key = (event: KeyboardEvent): void => {
    if (frame === undefined || event.ctrlKey || event.metaKey || event.altKey) return;
    const [middleX, middleY] = [frame.width / 2, frame.height / 2];
    const moves: Record<string, () => Frame> = {
      ArrowLeft: () => panned(frame, step, 0),
      ArrowRight: () => panned(frame, -step, 0),
      ArrowUp: () => panned(frame, 0, step),
      ArrowDown: () => panned(frame, 0, -step),
      "+": () => zoomed(frame, zoomStep, middleX, middleY),
      "=": () => zoomed(frame, zoomStep, middleX, middleY),
      "-": () => zoomed(frame, 1 / zoomStep, middleX, middleY),
      "0": () => wholeFrame(frame.width, frame.height),
    };
    const to = moves[event.key];
    if (to === undefined) return;
    event.preventDefault();
    onFrame(to());
  };

  return (
    <div class="map-picture" role="group" aria-label={t("map.picture")} tabIndex={0} onKeyDown={key}>
      <canvas
        ref={canvas}
        aria-hidden="true"
        onPointerDown={(event) => {
          event.currentTarget.setPointerCapture(event.pointerId);
          pointers.current.set(event.pointerId, [event.offsetX, event.offsetY]);
          moved.current = 0;
        }}
        onPointerMove={move}
        onPointerUp={(event) => {
          pointers.current.delete(event.pointerId);
          if (moved.current < still) onChoose(under([event.offsetX, event.offsetY]));
        }}
        onPointerCancel={(event) => void pointers.current.delete(event.pointerId)}
        onPointerLeave={() => onHover(undefined)}
      />
    </div>
  );
}
