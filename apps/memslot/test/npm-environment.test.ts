import { once } from "node:events";
import { writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import path from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { createSandbox } from "./run-memslot.ts";

test("npm is given its own settings and no key of its person", async () => {
  const { cwd, run } = await createSandbox();
  const agents: string[] = [];
  const registry = createServer((request, response) => {
    agents.push(request.headers["user-agent"] ?? "");
    response.writeHead(404, { "content-type": "application/json" }).end("{}");
  }).listen(0, "127.0.0.1");
  onTestFinished(() => void registry.close());
  await once(registry, "listening");
  const { port } = registry.address() as AddressInfo;
  // What npm's files name is put in from the environment, where it is there.
  const userconfig = path.join(cwd, "npmrc");
  const names = ["OPENAI_API_KEY", "AWS_SECRET_ACCESS_KEY", "GITHUB_TOKEN", "FOO_SECRET", "NPM_TOKEN"];
  await writeFile(userconfig, `user-agent=${names.map((name) => `\${${name}}`).join(" ")}\n`);
  const planted = Object.fromEntries(names.map((name) => [name, `planted-${name}`]));
  const { exitCode } = await run(["plugins", "add", "memslot-nobody-has-this"], {
    env: {
      ...planted,
      npm_config_registry: `http://127.0.0.1:${port}/`,
      npm_config_userconfig: userconfig,
      npm_config_fetch_retries: "0",
    },
  });
  expect(exitCode).toBe(1);
  expect(agents[0]).toBe("${OPENAI_API_KEY} ${AWS_SECRET_ACCESS_KEY} ${GITHUB_TOKEN} ${FOO_SECRET} planted-NPM_TOKEN");
});
