import type { VNode } from "preact";
import { citedHref } from "./transcript-places.ts";

export function Cited({ places }: { places: readonly string[] }): VNode {
  return (
    <>
      {places.map((place, index) => {
        const href = citedHref(place);
        return (
          <span key={place}>
            {index > 0 && ", "}
            {href === undefined ? place : <a href={href}>{place}</a>}
          </span>
        );
      })}
    </>
  );
}
