import { describe, expect, test } from "vitest";
import { redactLines, redactSecrets } from "./redact-secrets.ts";
import { queryTerms, indexTerms } from "../text/words.ts";
import { randomFrom, randomSentence, randomText } from "@memslot/test-tools/random";
import { generated, privateKeyBlock, secretExamples } from "../../test/support/secret-examples.ts";

/** What people and programs write, none of it a secret by its look; many would be found by carelessness. */
const innocent = String.raw`
wifi password: hunter2
Wi-Fi password: Sommer2026Urlaub
next token: 2026-03-05T10:22:33.000Z
door code 4711
The PIN is 0815, the puk 12345678
password: correct-horse-battery-staple
Passphrase "we all live in a yellow submarine"
the secret ingredient is unsweetened-applesauce-from-the-farm
Our token of appreciation: a bottle of wine
token: INC-4711-QX-7919-ABC-2026
The access code of project zephyr12 is QX-7919.
INC-4711, PROJ-1234, RFC-9110, CVE-2026-12345
We did this as a task-force, not risk-averse, at the desk-side-counter-of-the-front-office
sk-learn, sk-SK, disk-0123456789abcdefghij
Fixed in 0f3b55a1c2d4e6f8091a2b3c4d5e6f708192a3b4 and 84698b0
git show 0f3b55a1c2d4e6f8091a2b3c4d5e6f708192a3b4:src/index.ts
id 550e8400-e29b-41d4-a716-446655440000
session id: 550e8400-e29b-41d4-a716-446655440000
sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08
integrity sha512-z4PhNX7vuL3xVChQ1m2AB9Yg5AULVxXcg/SpIdNs6c5H0NE8XYXysP+DGNKHfuwvY7kxvUdBeoGlODJ6+SfaPg==
md5 of the backup: d41d8cd98f00b204e9800998ecf8427e
![icon](data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==)
v1.2.3-beta.4+build.567, node-v24.21.0-linux-x64.tar.gz
IBAN DE89 3704 0044 0532 0130 00, DE89370400440532013000
BIC COBADEFFXXX, VAT ATU12345678
Call +49 (0)30 1234-5678 or +1-202-555-0143
ISBN 978-3-16-148410-0, ORCID 0000-0002-1825-0097
Flight LH1234 from FRA to SFO, booking reference X7K9QZ
Parcel 00340434161094042557, order 302-1234567-1234567
/home/anna/projects/token-service/config/secrets.example.yaml
C:\Users\anna\AppData\Local\Programs\secret-manager\token2.exe
token file: ~/.config/gcloud/application_default_credentials.json
secret: projects/123456/secrets/db-password/versions/latest
arn:aws:secretsmanager:eu-central-1:123456789012:secret:MyTestSecret-a1b2c3
https://example.com/blog/2026/03/05/how-we-rotate-every-api-key?utm_source=newsletter&utm_campaign=spring26
https://user@example.com/path and git@github.com:owner/repository.git
http://localhost:3000/callback, then mail me@example.com
[docs](http://localhost:8080/docs),[mail](mailto:anna@example.com)
https://docs.google.com/document/d/1aB2cD3eF4gH5iJ6kL7mN8oP9qR0sT1uV2wX3yZ4/edit
https://www.youtube.com/watch?v=dQw4w9WgXcQ&list=PLrAXtmErZgOeiKm4sgNOknGvNjby9efdf
postgres://localhost:5432/app, postgres://app@db/app
postgres://user:password@localhost/db, redis://:$REDIS_PASSWORD@cache
mysql://root:<password>@db, https://{user}:{token}@example.com, ftp://me:****@host
const token = getToken();
const token = await client.getAccessToken2(options);
const apiKey = process.env.OPENAI_API_KEY ?? config.keys[0];
const password = crypto.randomBytes(16).toString("base64url");
token: { type: "string", maxLength: 64, pattern: "^[a-z0-9]{16,64}$" }
clientSecret?: OAuth2ClientOptions['clientSecret'],
return token = SyntaxKind.DotDotDotToken;
if (secret === expectedSecretOfThisTest42) return;
api_key = "${"$"}{OPENAI_API_KEY}", token = "{{ secrets.GITHUB_TOKEN }}", secret=$(pass show work/db2)
export OPENAI_API_KEY=sk-...
OPENAI_API_KEY=<your key from platform.openai.com>
Set ANTHROPIC_API_KEY=sk-ant-... and GITHUB_TOKEN=ghp_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx
aws_access_key_id = AKIAIOSFODNN7EXAMPLE
aws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY
Authorization: Bearer <token>, Authorization: Bearer YOUR_ACCESS_TOKEN_HERE
"password": "changeme-changeme-1234", "token": "your-token-goes-here-123"
max_tokens: 4096, tokenizer: o200k_base, token_count=1234567890123456
The API key lives in 1Password, item "OpenAI production key (rotated 2026-03-05T10:22:33Z)"
api key created: 2026-03-05T10:22:33.000Z, secret rotated 2026-03-05T10:22:33+01:00
basic internationalization, basic authentication, bearer of responsibilities
Basic understanding-of-the-architecture required
key-value-store, foreign-key-constraint, primary key: customer_id_2026_03_05
cache key: node_modules-linux-9e107d9d372bb6826bd81d3542a419d6
cache-key-9e107d9d372bb6826bd81d3542a419d6
ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ7m1Qw8Xk0zV3tY6uR9pL2sD5fG8hJ1kM4nB7vC0xZa anna@laptop
-----BEGIN CERTIFICATE-----
-----BEGIN PUBLIC KEY-----
npm_config_registry, npm_package_version, hf_hub_download, fw_initializeApplicationContext
re_search, pa-system-for-the-summer-party-of-the-whole-company-2026, pat-on-the-back
The SK8 park, SK Gaming, SG.com, EAA airshow, pul-up, r8_engine, xai-explainable-artificial-intelligence-of-everything
无线密码是 hunter2，门禁 4711。令牌桶算法：每秒补充一百个令牌，突发二百。
我们决定把数据库迁移到东京机房，負責人是田中さん、期限は来週の金曜日です。
パスワードは変更しました。 비밀번호는 책상 서랍에 있습니다.
| token | meaning | password | secret |
|--------------------------------|-----------------------------|
{"keys":["id","name"],"secretName":"db-credentials-v2","tokenEndpoint":"https://login.example.com/oauth2/v2.0/token"}
[redacted: OpenAI key] and token: [redacted: token], [redacted: private key]
.eslintrc.json, tsconfig.build.json, pnpm-lock.yaml, Cargo.toml, Dockerfile.production2
2026-03-05T10:22:33.123Z INFO [http-nio-8080-exec-10] c.e.auth.TokenAuthenticationFilter2 - token accepted
lorem/ipsum/dolor/sit/amet/consectetur/adipiscing/elit/sed/do/eiusmod
`
  .trim()
  .split("\n");

describe("what is no secret", () => {
  test("there are enough of them here", () => {
    expect(innocent.length).toBeGreaterThanOrEqual(80);
  });

  test.each(innocent.map((line) => [line]))("stays: %s", (line) => {
    expect(redactSecrets(line)).toBe(line);
    expect(redactSecrets(`\t- ${line}\r`)).toBe(`\t- ${line}\r`);
  });

  test("stays inside an image, whatever its characters make", () => {
    for (const { secret } of secretExamples) {
      const image = `![](data:image/png;base64,iVBOR/${secret.replaceAll(/[^A-Za-z0-9+/]/g, "/")}/AAAA=)`;
      expect(redactSecrets(image)).toBe(image);
    }
  });

  test("stays, as ordinary sentences and any characters do", () => {
    const random = randomFrom(11);
    for (let round = 0; round < 2000; round++) {
      const text = `${randomSentence(random, 30)}\n${randomText(random, 60)}`;
      expect(redactSecrets(text)).toBe(text);
    }
  });
});

describe("a text that is redacted", () => {
  const random = randomFrom(3);
  const names = [
    "token: ",
    "password=",
    '"api_key": "',
    "Bearer ",
    "secret access key ",
    "basic ",
    "密码：",
    "postgres://a:",
  ];
  const between = [
    " ",
    "\n",
    "\r\n",
    "`",
    '"',
    "'",
    ", ",
    " | ",
    "(",
    ")",
    "**",
    "@",
    "&",
    ": ",
    "\n\n",
    String.raw`\n`,
    "。",
  ];
  const pieces = [
    () => random.pick(secretExamples).secret,
    () => random.pick(innocent),
    () => random.pick(names),
    () => random.pick(Object.values(generated)),
    () => privateKeyBlock(random.pick(["", "RSA ", "PGP "]), 3).join(random.pick(["\n", String.raw`\n`])),
    () => randomText(random, 8),
  ];
  const samples = Array.from({ length: 1500 }, () =>
    Array.from({ length: 1 + random.below(8) }, () => random.pick(pieces)() + random.pick(between)).join(""),
  );

  test("has its lines where they were", () => {
    const count = samples.filter((text) => redactSecrets(text).split("\n").length !== text.split("\n").length);
    expect(count).toEqual([]);
    expect(samples.filter((text) => redactSecrets(text) !== text).length).toBeGreaterThan(1000);
    expect(redactLines([])).toEqual([]);
    expect(redactSecrets("")).toBe("");
  });

  test("is left as it is the second time", () => {
    expect(samples.filter((text) => redactSecrets(redactSecrets(text)) !== redactSecrets(text))).toEqual([]);
  });

  test("is found by the name of its secret", () => {
    const terms = indexTerms(redactSecrets(`For the bot: ${"sk"}-proj-${generated.mixed40}`)).split(" ");
    expect(terms).toEqual(expect.arrayContaining(queryTerms("OpenAI key").map(({ term }) => term)));
  });
});

test.each(["creds", "Credentials", "ZUGANG", "Anmeldung", "accès", "Acceso", "login", "Logins", "Логин"])(
  "a password behind a name is found on a line that holds nothing else of a login: %s",
  (word) => {
    expect(redactSecrets(`${word}: mara / hunter2-b0at`)).toBe(`${word}: mara / [redacted: password]`);
  },
);

describe("a text that is made to take long", () => {
  const begin = `-----BEGIN RSA PRIVATE${" KEY"}-----`;

  const short = ["eyJ-", "eyJaaaaaaaaaaaa.", "sk-ant-", "token:", "token|", "token ", "://a:", "AAAA", "-", ">", "0"];
  const long = [
    begin,
    `${begin}\n`,
    `${begin} `,
    "data:a/b;c=d",
    "SG.aaaaaaaaaaaaaaaaaaaa.",
    "12345678:AA",
    "密码：",
    "\n",
    "password for the ",
    "password to a is to ",
    "pass: user ",
    "token for for for ",
    "redis://:@a",
    `redis://a:${"@".repeat(120)}`,
    "curl -u a -u ",
    "mysql -p ",
    "cookie: a=b; ",
    "seed abandon ",
    "x is my password ",
    "login: a / ",
    "[redacted: token",
    "DB_PASSWORD=",
    "password:\n",
    "password: |\n  a\n",
    "- name: DB_PASSWORD\n",
    "| password | a |\n| --- | --- |\n",
    "password:\n\n",
    " ",
    "\t|",
    "---",
    "MIIEpAIBAAKCAQEA",
    "Private-Lines: 1\n",
    `${begin.replace("BEGIN", "END")}\n`,
    `${"Ab1".repeat(8)}\n`,
    "a:22:b:c:",
    "a,b,password\n",
    "password,a,b\nx,y,z\n",
    "a_key's ",
    "pw pw ",
  ];

  test.each([
    ["sk-".repeat(333_333)],
    ["a".repeat(1_000_000)],
    ["eyJ".repeat(100_000)],
    ...[...short, ...long].map((text) => [text.repeat(Math.ceil(200_000 / text.length))]),
  ])("ends soon: %#", (text) => {
    const started = process.cpuUsage();
    redactSecrets(text);
    redactSecrets(`token: ${text}`);
    redactSecrets(`${begin}\n${text} a b`);
    expect(process.cpuUsage(started).user / 1000).toBeLessThan(3000);
  });
});
