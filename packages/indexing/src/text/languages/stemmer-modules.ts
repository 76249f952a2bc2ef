// Made of the JSON files of this folder by `pnpm generate`.
export { stemmer as da } from "@orama/stemmers/danish";
export { stemmer as de } from "@orama/stemmers/german";
export { stemmer as es } from "@orama/stemmers/spanish";
export { stemmer as fr } from "@orama/stemmers/french";
export { stemmer as it } from "@orama/stemmers/italian";
export { stemmer as nl } from "@orama/stemmers/dutch";
export { stemmer as no } from "@orama/stemmers/norwegian";
export { stemmer as pt } from "@orama/stemmers/portuguese";
export { stemmer as ru } from "@orama/stemmers/russian";
export { stemmer as sv } from "@orama/stemmers/swedish";
