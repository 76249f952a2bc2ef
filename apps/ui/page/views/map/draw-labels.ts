import { type Frame, toPixels } from "./map-viewport.ts";

/** Words at a place of the map. */
export interface Label {
  x: number;
  y: number;
  text: string;
}

const font = "600 13px system-ui, sans-serif";
const lineHeight = 18;

/** Draws labels above the points, the first ones first: what would cover another label is not drawn. */
export function drawLabels(canvas: HTMLCanvasElement, frame: Frame, labels: readonly Label[]): void {
  const context = canvas.getContext("2d");
  if (context === null) return;
  context.setTransform(canvas.width / frame.width, 0, 0, canvas.height / frame.height, 0, 0);
  Object.assign(context, { font, textAlign: "center", lineWidth: 4, lineJoin: "round" });
  context.strokeStyle = colourOf(canvas, "--ground");
  context.fillStyle = colourOf(canvas, "--text");
  const taken: { x: number; y: number; half: number }[] = [];
  for (const { text, ...at } of labels) {
    const half = context.measureText(text).width / 2 + 4;
    const [pointX, y] = toPixels(frame, at.x, at.y);
    if (text === "" || pointX < 0 || y < 0 || pointX > frame.width || y > frame.height) continue;
    const x = Math.min(Math.max(pointX, half), frame.width - half);
    if (taken.some((other) => Math.abs(other.x - x) < other.half + half && Math.abs(other.y - y) < lineHeight))
      continue;
    taken.push({ x, y, half });
    context.strokeText(text, x, y - 8);
    context.fillText(text, x, y - 8);
  }
}

/** A token such as `rgb(47, 111, 208)`: it is resolved for the colour scheme only as the value of a colour. */
export function colourOf(element: HTMLElement, token: string): string {
  element.style.color = `var(${token})`;
  return getComputedStyle(element).color;
}
