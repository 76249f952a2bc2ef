// Made of the JSON files of this folder by `pnpm generate`.
export { default as da } from "./da.json" with { type: "json" };
export { default as de } from "./de.json" with { type: "json" };
export { default as en } from "./en.json" with { type: "json" };
export { default as es } from "./es.json" with { type: "json" };
export { default as fr } from "./fr.json" with { type: "json" };
export { default as it } from "./it.json" with { type: "json" };
export { default as nl } from "./nl.json" with { type: "json" };
export { default as no } from "./no.json" with { type: "json" };
export { default as pt } from "./pt.json" with { type: "json" };
export { default as ru } from "./ru.json" with { type: "json" };
export { default as sv } from "./sv.json" with { type: "json" };
export { default as zh } from "./zh.json" with { type: "json" };
