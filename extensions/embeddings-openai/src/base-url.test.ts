import { describe, expect, test } from "vitest";
import { baseUrlAdvice, readBaseUrl } from "./base-url.ts";
import { isPrivateHost } from "./endpoint.ts";

describe("a base URL", () => {
  test.each([
    ["https://api.openai.com/v1/", "https://api.openai.com/v1"],
    ["https://api.openai.com/v1//", "https://api.openai.com/v1"],
    ["  http://localhost:8080  ", "http://localhost:8080"],
    ["http://localhost:8080/", "http://localhost:8080"],
    ["https://mine.example.com/v1?version=1#top", "https://mine.example.com/v1?version=1"],
  ])("%s is used as %s", (written, href) => {
    expect(readBaseUrl(written, "remote.baseUrl").href).toBe(href);
  });

  test.each([
    ["localhost:11434/v1", /remote\.baseUrl is no complete address/],
    ["127.0.0.1:11434", /no complete address/],
    ["http://", /no complete address/],
    ["ws://localhost/v1", /begins with ws:\/\//],
    ["http://localhost:8080/v1/embeddings/", /write http:\/\/localhost:8080\/v1$/],
    ["http://localhost:8080/v1/chat/completions", /write http:\/\/localhost:8080\/v1$/],
  ])("%s is refused with what to write", (written, words) => {
    expect(() => readBaseUrl(written, "remote.baseUrl")).toThrow(words);
  });

  test("what it was written with after the question mark is shown to nobody", () => {
    expect(readBaseUrl("https://mine.example.com/v1?key=hidden", undefined).shown).toBe("https://mine.example.com/v1");
  });

  test.each([
    [
      "http://localhost:8080",
      "most servers want the base URL to end in /v1: http://localhost:8080/v1 (remote.baseUrl)",
    ],
    ["http://localhost:11434/api", "most servers want the base URL to end in /v1 (remote.baseUrl)"],
    ["https://openrouter.ai/api/v1", "check remote.baseUrl"],
    ["https://generativelanguage.example.com/v1beta/openai", "check remote.baseUrl"],
  ])("the advice for %s", (written, advice) => {
    expect(baseUrlAdvice(readBaseUrl(written, "remote.baseUrl"))).toBe(advice);
  });
});

describe("whether a host is private", () => {
  test.each([
    "localhost",
    "LOCALHOST.",
    "dev.localhost",
    "127.0.0.1",
    "127.8.9.10",
    "0.0.0.0",
    "10.1.2.3",
    "172.16.0.1",
    "172.31.255.255",
    "192.168.1.20",
    "169.254.1.1",
    "100.100.1.1",
    "[::1]",
    "[::]",
    "[fd00::1]",
    "[fe80::1]",
    "[::ffff:7f00:1]",
    "ollama",
    "gpu.local",
    "host.docker.internal",
    "box.lan",
    "box.home.arpa",
  ])("%s is", (host) => {
    expect(isPrivateHost(host)).toBe(true);
  });

  test.each([
    "api.openai.com",
    "localhost.example.com",
    "8.8.8.8",
    "172.32.0.1",
    "11.0.0.1",
    "[2001:4860:4860::8888]",
    "[::ffff:808:808]",
    "local.example.com",
    "10.example.com",
  ])("%s is not", (host) => {
    expect(isPrivateHost(host)).toBe(false);
  });
});
