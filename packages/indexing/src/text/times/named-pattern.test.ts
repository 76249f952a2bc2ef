import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { expect, test } from "vitest";
import { groupsOf, namedPattern } from "./named-pattern.ts";

test("of several groups of one name the one that matches has it", () => {
  const pattern = namedPattern(String.raw`(?<d>\d+)\. (?<m>may|june)|(?<m>may|june) (?<d>\d+)(?:, (?<y>\d+))?`);
  expect(groupsOf(pattern.exec("12. may"))).toEqual({ d: "12", m: "may" });
  expect(groupsOf(pattern.exec("june 3, 2024"))).toEqual({ d: "3", m: "june", y: "2024" });
  expect(groupsOf(pattern.exec("nothing"))).toBeUndefined();
});

test("no pattern has two groups of one name for an engine that knows none such", () => {
  const names = [...namedPattern("(?<a>x)|(?<a>y)|(?<a>z)(?<b>1)(?<=q)(?<!r)").source.matchAll(/\(\?<([^=!>]+)>/g)];
  expect(names.map(([, name]) => name)).toEqual(["a", "a$2", "a$3", "b"]);
});

test("every pattern that is put together from parts here is made so", () => {
  const sources = readdirSync(import.meta.dirname, { recursive: true, encoding: "utf8" }).filter((name) =>
    /(?<!\.test)\.ts$/.test(name),
  );
  expect(sources.length).toBeGreaterThan(20);
  const others = sources.filter((name) =>
    readFileSync(path.join(import.meta.dirname, name), "utf8").includes("new RegExp("),
  );
  expect(others).toEqual(["named-pattern.ts"]);
});
