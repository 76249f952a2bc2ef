import { join } from "node:path";
import { expect, test } from "vitest";
import { defaultModel, parseModelAddress } from "./model-address.ts";

const places = { cacheDir: "/cache", hubEndpoint: undefined };

test("the default model", () => {
  expect(parseModelAddress(defaultModel, places)).toEqual({
    model: "hf:ggml-org/embeddinggemma-300M-GGUF/embeddinggemma-300M-Q8_0.gguf",
    path: join("/cache", "hf", "ggml-org", "embeddinggemma-300M-GGUF", "embeddinggemma-300M-Q8_0.gguf"),
    fileName: "embeddinggemma-300M-Q8_0.gguf",
    source: {
      url: "https://huggingface.co/ggml-org/embeddinggemma-300M-GGUF/resolve/main/embeddinggemma-300M-Q8_0.gguf",
      isHub: true,
    },
  });
});

test("a file of a folder of another branch, from another hub", () => {
  const hub = { cacheDir: "/cache", hubEndpoint: "http://127.0.0.1:8080/mirror/" };
  expect(parseModelAddress("hf:user/model/q8/some file.gguf#refs/pr/1", hub)).toMatchObject({
    model: "hf:user/model/q8/some file.gguf#refs/pr/1",
    path: join("/cache", "hf", "user", "model#refs/pr/1", "q8", "some file.gguf"),
    source: { url: "http://127.0.0.1:8080/mirror/user/model/resolve/refs%2Fpr%2F1/q8/some%20file.gguf" },
  });
  expect(parseModelAddress("hf:user/model/file.gguf#main", hub).model).toBe("hf:user/model/file.gguf");
});

test("a web address, whose signature is neither part of the name nor of the place", () => {
  const first = parseModelAddress("https://example.org/models/a.gguf?signature=1", places);
  const second = parseModelAddress("https://example.org/models/a.gguf?signature=2", places);
  expect(first.model).toBe("https://example.org/models/a.gguf");
  expect(first.path).toBe(second.path);
  expect(first.path).toMatch(/^\/cache\/url\/[0-9a-f]{12}\/a\.gguf$/);
  expect(first.source).toEqual({ url: "https://example.org/models/a.gguf?signature=1", isHub: false });
  expect(parseModelAddress("https://example.org/other/a.gguf", places).path).not.toBe(first.path);
});

test("a path is known by the name of its file", () => {
  const path = "/some/where/model.gguf";
  expect(parseModelAddress(path, places)).toEqual({
    model: "model.gguf",
    path,
    fileName: "model.gguf",
    source: undefined,
  });
});

test.each([
  "hf:user/model",
  "hf:user/file.gguf",
  "hf:user/model/readme.md",
  "hf:user/../../file.gguf",
  "hf:user/model/../../../file.gguf",
  "hf:user/model/a\\b.gguf",
  "hf:user/model/file.gguf#../../x",
  "hf:user/model/file.gguf#a#b",
  "https://example.org/",
  "ollama:model",
  "relative/file.gguf",
])('"%s" is no address of a model', (written) => {
  expect(() => parseModelAddress(written, places)).toThrow(
    expect.objectContaining({ code: "CONFIG", message: expect.stringContaining("local.modelPath") }),
  );
});

test("a password in an address is refused and stands in no message", () => {
  const read = (): unknown => parseModelAddress("https://me:secret-1@example.org/a.gguf?key=secret-2", places);
  expect(read).toThrow(/holds a password/);
  expect(read).not.toThrow(/secret/);
});

test("an HF_ENDPOINT that is no address is an error of the configuration", () => {
  expect(() => parseModelAddress(defaultModel, { cacheDir: "/cache", hubEndpoint: "file:///etc" })).toThrow(
    expect.objectContaining({ code: "CONFIG", message: expect.stringContaining("HF_ENDPOINT") }),
  );
});
