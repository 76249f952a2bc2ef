import json5 from "json5";

// A module of its own: an import of the CommonJS package in a shared file makes every command load one file more.
export const parse: typeof json5.parse = json5.parse;
