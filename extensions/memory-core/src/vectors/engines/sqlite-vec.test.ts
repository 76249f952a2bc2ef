import Database from "better-sqlite3";
import { expect, test } from "vitest";
import { loadSqliteVec } from "./sqlite-vec.ts";

test("the bundled extension loads, is proved, and leaves nothing behind", () => {
  const db = new Database(":memory:");
  expect(loadSqliteVec(db, undefined)).toEqual({ ok: true, path: expect.stringContaining("vec0") });
  expect(db.prepare("SELECT count(*) FROM sqlite_temp_schema WHERE name LIKE 'vec%'").pluck().get()).toBe(0);
  db.close();
});

test("an extension that loads and does nothing is found out", () => {
  const db = new Database(":memory:");
  db.loadExtension = () => db;
  expect(loadSqliteVec(db, "/somewhere/else")).toEqual({
    ok: false,
    path: "/somewhere/else",
    error: "no such function: vec_version",
  });
  db.function("vec_version", () => "v0.1.9");
  expect(loadSqliteVec(db, undefined)).toMatchObject({ ok: false, error: "no such module: vec0" });
  db.close();
});
