import { describe, expect, test } from "vitest";
import { looksRandom } from "./looks-random.ts";
import { redactSecrets } from "./redact-secrets.ts";
import { randomFrom } from "@memslot/test-tools/random";
import { generated, secretExamples } from "../../test/support/secret-examples.ts";

const { hex32, mixed40, base64, password, awsSecret } = generated;

describe("a secret that its name gives away", () => {
  test.each([
    [`API_KEY=${mixed40}`, "API_KEY=[redacted: API key]"],
    [`- API key: ${hex32}`, "- API key: [redacted: API key]"],
    [`**API key:** \`${hex32}\``, "**API key:** `[redacted: API key]`"],
    [`const apiKey = "${mixed40}";`, 'const apiKey = "[redacted: API key]";'],
    [`x-api-key: ${mixed40}`, "x-api-key: [redacted: API key]"],
    [`| API key | ${hex32} |`, "| API key | [redacted: API key] |"],
    [`{"client_secret": "${mixed40}", "id": 7}`, '{"client_secret": "[redacted: secret]", "id": 7}'],
    [String.raw`{\"clientSecret\":\"${mixed40}\"}`, String.raw`{\"clientSecret\":\"[redacted: secret]\"}`],
    [`client_secret=${mixed40}&grant_type=code`, "client_secret=[redacted: secret]&grant_type=code"],
    [`https://example.com/?token=${hex32}&page=2`, "https://example.com/?token=[redacted: token]&page=2"],
    [`token: ${hex32}.`, "token: [redacted: token]."],
    [`The token is ${hex32}, I think.`, "The token is [redacted: token], I think."],
    [`./deploy --token ${hex32} --force`, "./deploy --token [redacted: token] --force"],
    [`Authorization: Bearer ${base64}`, "Authorization: Bearer [redacted: token]"],
    [`-H 'Authorization: token ${hex32}'`, "-H 'Authorization: token [redacted: token]'"],
    [`DB_PASSWORD='${password}'`, "DB_PASSWORD='[redacted: password]'"],
    [`password (staging): ${password}`, "password (staging): [redacted: password]"],
    [`passphrase => ${password}`, "passphrase => [redacted: password]"],
    [`"password": "it's<${password}>"`, '"password": "[redacted: password]"'],
    [`Passwort: ${password}`, "Passwort: [redacted: password]"],
    [`密码：${password}。`, "密码：[redacted: password]。"],
    [`令牌是 ${hex32}`, "令牌是 [redacted: token]"],
    [`aws_secret_access_key = ${awsSecret}`, "aws_secret_access_key = [redacted: AWS secret key]"],
    [`SecretAccessKey: ${awsSecret}`, "SecretAccessKey: [redacted: AWS secret key]"],
    [`${"AK"}IA2OGYBAH6QJ7XWZ3P,${awsSecret}`, "[redacted: AWS access key id],[redacted: AWS secret key]"],
    [`SECRET_KEY_BASE: ${hex32}${hex32}`, "SECRET_KEY_BASE: [redacted: secret]"],
    [`signing key: ${base64}`, "signing key: [redacted: key]"],
    [`//npm.example.com/:_auth=${base64}`, "//npm.example.com/:_auth=[redacted: token]"],
    [`token: ${mixed40.repeat(20)} end`, "token: [redacted: token] end"],
    [
      `secret_url=x token="a ${hex32}" key=y password=${password}`,
      `secret_url=x token="a ${hex32}" key=y password=[redacted: password]`,
    ],
  ])("%s", (line, kept) => {
    expect(redactSecrets(line)).toBe(kept);
  });

  test("goes on being found behind one that was none", () => {
    expect(redactSecrets(`token=getTokenFromTheRequest;password=${password}`)).toBe(
      "token=getTokenFromTheRequest;password=[redacted: password]",
    );
    expect(redactSecrets(`token https://example.com/?token=${hex32}`)).toBe(
      "token https://example.com/?token=[redacted: token]",
    );
  });

  test("is taken out once where two names stand before it", () => {
    expect(redactSecrets(`secret=token=${mixed40} end`)).toBe("secret=[redacted: secret] end");
  });

  test("ends where another one was taken out", () => {
    const jwt = secretExamples.find(({ name }) => name === "JWT")?.secret;
    expect(redactSecrets(`token: ${hex32}=${jwt}`)).toBe("token: [redacted: token][redacted: JWT]");
  });

  test("is known by its shape first", () => {
    for (const { name, secret } of secretExamples)
      expect(redactSecrets(`api_key: "${secret}"`)).toBe(`api_key: "[redacted: ${name}]"`);
  });
});

describe("a password in an address", () => {
  test.each([
    ["postgres://app:hunter2@db.example.com:5432/app", "postgres://app:[redacted: password]@db.example.com:5432/app"],
    [
      "mongodb+srv://me:p%40ss@cluster0.example.net/?w=1",
      "mongodb+srv://me:[redacted: password]@cluster0.example.net/?w=1",
    ],
    ["redis://:a-b_c@cache:6379", "redis://:[redacted: password]@cache:6379"],
    ["amqp://a:p@ss@queue.example.com", "amqp://a:[redacted: password]@queue.example.com"],
    [
      `Clone https://me:${mixed40}@git.example.com/a.git.`,
      "Clone https://me:[redacted: password]@git.example.com/a.git.",
    ],
  ])("%s", (line, kept) => {
    expect(redactSecrets(line)).toBe(kept);
  });

  test("is one as well where a header carries it", () => {
    const encoded = Buffer.from("admin:correct horse").toString("base64");
    expect(redactSecrets(`curl -H "Authorization: Basic ${encoded}"`)).toBe(
      'curl -H "Authorization: Basic [redacted: password]"',
    );
  });
});

describe("what looks random", () => {
  const random = randomFrom(7);
  const small = "abcdefghijklmnopqrstuvwxyz";
  const alphabets = {
    hex: ["0123456789abcdef", 32],
    base62: [`${small}${small.toUpperCase()}0123456789`, 32],
    base36: [`${small}0123456789`, 32],
    passwords: [`${small}${small.toUpperCase()}0123456789!#%&?@`, 20],
  } as const;

  test.each(Object.entries(alphabets))("is nearly all that is: %s", (_, [alphabet, length]) => {
    const words = Array.from({ length: 2000 }, () =>
      Array.from({ length }, () => random.pick(alphabet.split(""))).join(""),
    );
    expect(words.filter(looksRandom).length).toBeGreaterThan(0.95 * words.length);
    expect(words.some((word) => looksRandom(word.slice(0, 15)))).toBe(false);
  });
});
