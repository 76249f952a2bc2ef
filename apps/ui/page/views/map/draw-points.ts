import type { MemoryMap } from "@memslot/core";
import { mostKinds } from "./map-groups.ts";
import { type Frame, unitOf } from "./map-viewport.ts";

export interface PointPainter {
  /** The points to draw from now on, and an index of `colours` for each. They move from the last ones if there are as many. */
  place(map: Pick<MemoryMap, "x" | "y">, kinds: Uint8Array): void;
  /** `moved`: 0 to 1 of the way. `colours`: such as `rgb(47, 111, 208)`. */
  draw(frame: Frame, look: { size: number; colours: readonly string[]; moved: number }): void;
}

const vertexCode = `#version 300 es
in vec2 origin;
in vec2 goal;
in float kind;
uniform vec4 frame;
uniform float size;
uniform float moved;
uniform vec3 colours[${mostKinds}];
out vec3 colour;
void main() {
  vec2 place = mix(origin, goal, moved) * frame.xy + frame.zw;
  gl_Position = vec4(place.x, -place.y, 0, 1);
  gl_PointSize = size;
  colour = colours[int(kind)];
}`;
const fragmentCode = `#version 300 es
precision mediump float;
in vec3 colour;
out vec4 painted;
void main() {
  if (distance(gl_PointCoord, vec2(0.5)) > 0.5) discard;
  painted = vec4(colour, 1);
}`;

/** Draws all points of a frame with one call of WebGL 2. Undefined if the browser has none. */
export function createPainter(canvas: HTMLCanvasElement): PointPainter | undefined {
  const gl = canvas.getContext("webgl2", { antialias: false, premultipliedAlpha: false });
  if (gl === null) return undefined;
  const program = gl.createProgram();
  for (const [type, code] of [
    [gl.VERTEX_SHADER, vertexCode],
    [gl.FRAGMENT_SHADER, fragmentCode],
  ] as const) {
    const shader = gl.createShader(type);
    if (shader === null) continue; // The context is lost; its restoration makes a new painter.
    gl.shaderSource(shader, code);
    gl.compileShader(shader);
    gl.attachShader(program, shader);
  }
  gl.linkProgram(program);
  gl.useProgram(program);
  const uniform = (name: string): WebGLUniformLocation | null => gl.getUniformLocation(program, name);
  const buffers = { origin: gl.createBuffer(), goal: gl.createBuffer(), kind: gl.createBuffer() };
  const fill = (name: keyof typeof buffers, values: Float32Array, parts: number): void => {
    const at = gl.getAttribLocation(program, name);
    gl.bindBuffer(gl.ARRAY_BUFFER, buffers[name]);
    gl.bufferData(gl.ARRAY_BUFFER, values, gl.STATIC_DRAW);
    gl.enableVertexAttribArray(at);
    gl.vertexAttribPointer(at, parts, gl.FLOAT, false, 0, 0);
  };
  let places: Float32Array = new Float32Array();
  return {
    place({ x, y }, kinds) {
      const next = Float32Array.from({ length: 2 * x.length }, (_, at) => (at % 2 === 0 ? x : y)[at >> 1] ?? 0);
      fill("origin", places.length === next.length ? places : next, 2);
      fill("goal", next, 2);
      fill("kind", Float32Array.from(kinds), 1);
      places = next;
    },
    draw(frame, { size, colours, moved }) {
      gl.viewport(0, 0, canvas.width, canvas.height);
      gl.clearColor(0, 0, 0, 0);
      gl.clear(gl.COLOR_BUFFER_BIT);
      const { k, x, y } = frame.zoom;
      const unit = 2 * k * unitOf(frame);
      gl.uniform4f(
        uniform("frame"),
        unit / frame.width,
        unit / frame.height,
        k - 1 + (2 * x) / frame.width,
        k - 1 + (2 * y) / frame.height,
      );
      gl.uniform1f(uniform("size"), (size * canvas.width) / frame.width);
      gl.uniform1f(uniform("moved"), moved);
      const parts = colours.slice(0, mostKinds).flatMap((colour) => colour.match(/\d+/gu)?.slice(0, 3) ?? []);
      gl.uniform3fv(
        uniform("colours"),
        parts.map((part) => Number(part) / 255),
      );
      gl.drawArrays(gl.POINTS, 0, places.length / 2);
    },
  };
}
