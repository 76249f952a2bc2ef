import { expect, test } from "vitest";
import { remedy } from "./embedding-checks.ts";

const startServer = /^Start the server/u;

test.each(["40295", "40100", "40300", "40400", "42900", "402", "429"])(
  "the port %s of an address is no status code",
  (port) => {
    expect(remedy(`cannot reach http://127.0.0.1:${port} (ECONNREFUSED): is the server running?`)).toMatch(startServer);
    expect(remedy(`connect ECONNREFUSED 127.0.0.1:${port}`)).toMatch(startServer);
  },
);

test("a host's name is none of the words", () => {
  expect(remedy("cannot reach http://key.rate.example.org:8080/embed: no answer within 5 s")).toMatch(startServer);
});

test.each([
  ["HTTP 402: payment required", /Add credit/u],
  ["HTTP 401 from https://api.example.org", /Correct the key/u],
  ["HTTP 404 from https://api.example.org/v2", /baseUrl or/u],
  ["HTTP 429: slow down", /^Wait/u],
  ["127.0.0.1:8080 answered 502: a web page", /^Check its key and address/u],
  ["the embedding probe did not answer within 15 s", /^Start the server/u],
])("%s is told from its status", (reason, expected) => {
  expect(remedy(reason)).toMatch(expected);
});
