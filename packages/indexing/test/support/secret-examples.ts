import { randomFrom } from "@memslot/test-tools/random";

export interface SecretExample {
  /** What it is redacted as. */
  name: string;
  /** Made up, and put together here, so that no scanner takes this repository for leaking. */
  secret: string;
}

const digits = "0123456789";
const small = "abcdefghijklmnopqrstuvwxyz";
const capitals = small.toUpperCase();
const random = randomFrom(26);

function of(characters: string, length: number): string {
  return Array.from({ length }, () => random.pick(characters.split(""))).join("");
}

export const hex = (length: number): string => of(`${digits}abcdef`, length);
export const words = (length: number): string => of(small + capitals + digits, length);
export const dashed = (length: number): string => of(`${small}${capitals}${digits}_-`, length - 1) + of(small, 1);
export const base64 = (length: number): string => of(`${small}${capitals}${digits}+/`, length);
export const low = (length: number): string => of(small + digits, length);
export const high = (length: number): string => of(capitals + digits, length);
export const number = (length: number): string => `1${of(digits, length - 1)}`;
export const uuid = (): string => [8, 4, 4, 4, 12].map(hex).join("-");
const json = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString("base64url");
export const jwt = (): string =>
  [json({ alg: "HS256", typ: "JWT" }), json({ sub: words(10), iat: 1 }), dashed(43)].join(".");

/** One of every shape that a secret is known by, with further ones of those that come in several forms. */
export const secretExamples: readonly SecretExample[] = Object.entries({
  "Anthropic key": [`sk-ant-api03-${dashed(93)}AA`, `sk-ant-oat01-${dashed(95)}`, `sk-ant-admin01-${dashed(93)}AA`],
  "OpenRouter key": [`sk-or-v1-${hex(64)}`],
  "Langfuse key": [`sk-lf-${uuid()}`],
  "OpenAI key": [
    `sk-${words(20)}T3BlbkFJ${words(20)}`,
    `sk-proj-${dashed(74)}T3BlbkFJ${dashed(74)}`,
    `sk-proj-${dashed(40)}`,
    `sk-svcacct-${dashed(74)}`,
    `sk-admin-${dashed(58)}`,
  ],
  "OpenAI-style key": [`sk-${words(48)}`, `sk-${hex(32)}`],
  "Google API key": [`AIza${dashed(35)}`, `AQ.Ab${dashed(48)}`],
  "Groq key": [`gsk_${words(52)}`],
  "xAI key": [`xai-${words(80)}`],
  "Perplexity key": [`pplx-${words(48)}`],
  "Replicate token": [`r8_${words(37)}`],
  "Hugging Face token": [`hf_${of(small + capitals, 34)}`, `api_org_${of(small + capitals, 34)}`],
  "NVIDIA key": [`nvapi-${dashed(64)}`],
  "Cerebras key": [`csk-${low(48)}`],
  "Fireworks key": [`fw_3Z${words(20)}`],
  "Voyage key": [`pa-aB3${dashed(40)}`],
  "Jina key": [`jina_${hex(32)}${dashed(28)}`],
  "Pinecone key": [`pcsk_${words(6)}_${words(56)}`],
  "LangSmith key": [`lsv2_pt_${hex(32)}_${hex(10)}`],
  "Tavily key": [`tvly-dev-${dashed(32)}`, `tvly-${words(32)}`],
  "ElevenLabs key": [`sk_${hex(48)}`],
  "Vercel token": [`vcp_${words(56)}`],
  "Together key": [`tgp_v1_${dashed(43)}`],
  "Firecrawl key": [`fc-${hex(32)}`],
  "E2B key": [`e2b_${hex(40)}`],
  "registry credentials": [`eyJhdXRocyI6${base64(80)}==`],
  "ClickHouse key": [`4b1dA${words(37)}`],
  "Yandex key": [`AQVN${dashed(36)}`],
  "Yandex token": [`t1.${dashed(100)}.${dashed(86)}`],
  "Scalingo token": [`tk-us-${dashed(48)}`],
  "Defined Networking token": [`dnkey-${dashed(26)}-${dashed(52)}`],
  "request signature": [`X-Amz-Signature=${hex(64)}`],
  "access code": [`code=${dashed(54)}==`],
  "Clojars token": [`CLOJARS_${hex(60)}`],
  "Harness token": [`pat.${dashed(22)}.${hex(24)}.${words(20)}`],
  "Infracost key": [`ico-${words(32)}`],
  "Octopus Deploy key": [`API-7${high(25)}`],
  "Prefect key": [`pnu_${words(36)}`],
  "ReadMe key": [`rdme_${low(70)}`],
  "Sourcegraph token": [`sgp_${hex(40)}`, `sgp_${hex(16)}_${hex(40)}`],
  "Authress key": [`sc_${low(12)}.${low(5)}.acc_${low(16)}.${dashed(40)}`],
  "SettleMint token": [`sm_aat_${words(16)}`],
  "Axiom token": [`xaat-${uuid()}`],
  "Honeycomb key": [`hcaik_${low(58)}`],
  "Inngest key": [`signkey-prod-${hex(64)}`],
  "Duffel token": [`duffel_live_${dashed(43)}`],
  "EasyPost key": [`EZAK${words(54)}`],
  "Flutterwave key": [`FLWSECK_TEST-${hex(32)}-X`],
  "GoCardless token": [`live_7${dashed(39)}`],
  "Lob key": [`test_${hex(35)}`],
  "Paddle key": [`pdl_live_apikey_${low(26)}_${words(22)}`],
  "Shippo token": [`shippo_live_${hex(40)}`],
  "MailerSend token": [`mlsn.${hex(64)}`],
  "Firebase key": [`AAAA${dashed(7)}:APA91b${dashed(134)}`],
  "Adobe secret": [`p8e-${low(32)}`],
  "Frame.io token": [`fio-u-${dashed(64)}`],
  "42 secret": [`s-s4t2ud-${hex(64)}`],
  "MaxMind key": [`${words(6)}_${words(29)}_mmk`],
  "password hash": [`$2b$12$${words(53)}`, `$6$${words(8)}$${words(86)}`],
  "AWS access key id": [`AKIA${of(`${capitals}234567`, 16)}`, `ASIA${of(`${capitals}234567`, 16)}`],
  "AWS Bedrock key": [`ABSK${base64(120)}==`],
  "Google OAuth token": [`ya29.a0${dashed(180)}`, `1//0g${dashed(60)}`],
  "Google client secret": [`GOCSPX-${dashed(28)}`],
  "Azure account key": [`AccountKey=${base64(86)}==`, `SharedAccessKey=${base64(43)}=`],
  "Azure SAS signature": [`sig=${words(20)}%2B${words(22)}%3D`],
  "Azure client secret": [`${words(3)}8Q~${dashed(34)}`],
  "Alibaba Cloud access key id": [`LTAI${words(20)}`],
  "Tencent Cloud secret id": [`AKID${words(32)}`],
  "DigitalOcean token": [`dop_v1_${hex(64)}`, `doo_v1_${hex(64)}`, `dor_v1_${hex(64)}`],
  "Cloudflare token": [`cfut_${words(48)}`, `cfat_${words(48)}`, `cfk_${words(48)}`, `v1.0-${hex(24)}-${hex(146)}`],
  "Heroku key": [`HRKU-AA${dashed(58)}`],
  "Fly.io token": [`fo1_${dashed(43)}`, `fm2_${base64(120)}==`],
  "Netlify token": [`nfp_${words(36)}`],
  "Render key": [`rnd_${words(28)}`],
  "Supabase key": [`sbp_${hex(40)}`, `sb_secret_${dashed(31)}`],
  "PlanetScale secret": [`pscale_tkn_${dashed(43)}`, `pscale_pw_${dashed(43)}`],
  "Neon key": [`napi_${low(64)}`],
  "Databricks token": [`dapi${hex(32)}`, `dapi${hex(32)}-2`],
  "Terraform token": [`${words(14)}.atlasv1.${dashed(67)}`],
  "Pulumi token": [`pul-${hex(40)}`],
  "Tailscale key": [`tskey-auth-${words(12)}CNTRL-${words(32)}`],
  "Vault token": [`hvs.${dashed(90)}`, `hvb.${dashed(140)}`],
  "Doppler token": [`dp.pt.${words(43)}`, `dp.st.prd.${words(43)}`],
  "1Password token": [`ops_${json({ signInAddress: "my.1password.eu", userAuth: words(80) })}`],
  "1Password secret key": [`A3-${high(6)}-${high(6)}-${high(5)}-${high(5)}-${high(5)}-${high(5)}`],
  "Docker token": [`dckr_pat_${dashed(27)}`, `dckr_oat_${dashed(32)}`],
  "OpenShift token": [`sha256~${dashed(43)}`],
  "GitHub token": [
    ...["p", "o", "u", "s", "r"].map((kind) => `gh${kind}_${words(36)}`),
    `github_pat_${words(22)}_${words(59)}`,
  ],
  "GitLab token": [`glpat-${dashed(20)}`, `glrt-t1_${dashed(27)}.01.${low(9)}`, `gldt-${dashed(20)}`],
  "Bitbucket password": [`ATBB${words(32)}`],
  "Atlassian token": [`ATATT3${dashed(180)}=${high(8)}`],
  "npm token": [`npm_${words(36)}`],
  "PyPI token": [`pypi-AgEIcHlwaS5vcmc${dashed(150)}`],
  "RubyGems key": [`rubygems_${hex(48)}`],
  "NuGet key": [`oy2${low(43)}`],
  "crates.io token": [`cio${words(32)}`],
  "JFrog token": [`AKCp${words(69)}`, `cmVmd${words(59)}`],
  "CircleCI token": [`CCIPAT_${words(22)}_${hex(40)}`],
  "Buildkite token": [`bkua_${hex(40)}`],
  "SonarQube token": [`squ_${hex(40)}`, `sqp_${hex(40)}`],
  "Sentry token": [`sntrys_${json({ iat: 1, url: "https://sentry.io" })}=_${base64(43)}`, `sntryu_${hex(64)}`],
  "New Relic key": [`NRAK-${high(27)}`, `NRJS-${hex(19)}`],
  "Grafana token": [`glsa_${words(32)}_${hex(8)}`, `glc_${base64(80)}==`, `eyJrIjoi${words(80)}==`],
  "Dynatrace token": [`dt0c01.${high(24)}.${high(64)}`],
  "PostHog key": [`phx_${words(43)}`],
  "Postman key": [`PMAK-${hex(24)}-${hex(34)}`],
  "Slack token": [
    ...["b", "p", "a"].map((kind) => `xox${kind}-${number(12)}-${number(13)}-${words(24)}`),
    `xapp-1-A${high(10)}-${number(13)}-${hex(64)}`,
  ],
  "Slack webhook": [`hooks.slack.com/services/T${high(8)}/B${high(10)}/${words(24)}`],
  "Discord webhook": [`discord.com/api/webhooks/${number(19)}/${dashed(68)}`],
  "private calendar address": [`calendar.google.com/calendar/ical/anna%40house.org/private-${hex(32)}`],
  "BitLocker recovery key": [Array.from({ length: 8 }, () => number(6)).join("-")],
  "Teams webhook": [`webhook.office.com/webhookb2/${uuid()}@${uuid()}/IncomingWebhook/${hex(32)}/${uuid()}`],
  "Discord token": [`${Buffer.from(number(18)).toString("base64")}.${dashed(6)}.${dashed(38)}`],
  "Telegram bot token": [`${number(10)}:AA${dashed(33)}`],
  "Stripe key": [`sk_live_${words(99)}`, `rk_live_${words(24)}`, `sk_test_${words(24)}`],
  "webhook secret": [`whsec_${base64(32)}`],
  "Square token": [`sq0atp-${dashed(22)}`, `EAAA${dashed(60)}`],
  "Facebook token": [`EAAC${words(160)}`],
  "Plaid token": [`access-production-${uuid()}`],
  "Twilio key": [`SK${hex(32)}`],
  "SendGrid key": [`SG.${dashed(22)}.${dashed(43)}`],
  "Mailgun key": [`key-${hex(32)}`],
  "Mailchimp key": [`${hex(32)}-us21`],
  "Brevo key": [`xkeysib-${hex(64)}-${words(16)}`],
  "Resend key": [`re_${words(8)}_${words(24)}`],
  "Shopify token": [`shpat_${hex(32)}`, `shpss_${hex(32)}`],
  "Linear key": [`lin_api_${words(40)}`],
  "Notion token": [`secret_${words(43)}`, `ntn_${number(11)}${words(35)}`],
  "Figma token": [`figd_${dashed(43)}`],
  "Airtable token": [`pat${words(14)}.${hex(64)}`],
  "Asana token": [`2/${number(16)}/${number(16)}:${hex(32)}`],
  "HubSpot token": [`pat-eu1-${uuid()}`],
  "ClickUp token": [`pk_${number(8)}_${high(32)}`],
  "Typeform token": [`tfp_${dashed(59)}`],
  "Contentful token": [`CFPAT-${dashed(43)}`],
  "Mapbox token": [`sk.${json({ u: words(12), a: words(24) })}.${dashed(22)}`],
  "Dropbox token": [`sl.u.${dashed(140)}`],
  "age secret key": [`AGE-SECRET-KEY-1${high(58)}`, `AGE-PLUGIN-YUBIKEY-1${high(60)}`],
  "wallet private key": [`xprv${of("123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz", 107)}`],
  "Nostr private key": [`nsec1${of("023456789acdefghjklmnpqrstuvwxyz", 58)}`],
  "private key": ["", "RSA ", "EC ", "DSA ", "ENCRYPTED ", "OPENSSH "].map((kind) =>
    Buffer.from(`-----BEGIN ${kind}PRIVATE${" KEY"}-----\n${base64(64)}\n`).toString("base64"),
  ),
  JWT: [jwt(), `${json({ alg: "RS256", kid: words(300) })}.${json({ sub: "me" })}.${dashed(342)}`],
}).flatMap(([name, secrets]) => secrets.map((secret) => ({ name, secret })));

/** A key in its armour, in lines. */
export function privateKeyBlock(kind: string, lines = 12): string[] {
  const title = `${kind}PRIVATE${" KEY"}${kind === "PGP " ? " BLOCK" : ""}`;
  const body = Array.from({ length: lines }, () => base64(64));
  return [`-----BEGIN ${title}-----`, ...body, `${base64(19)}7==`, `-----END ${title}-----`];
}

/** What generators of passwords and keys give. */
export const generated: Record<"hex32" | "mixed40" | "base64" | "password" | "awsSecret", string> = {
  hex32: hex(32),
  mixed40: words(40),
  base64: `${base64(39)}7=`,
  password: `kX9#mQ2$${words(6)}!4z`,
  awsSecret: `wJ4${base64(37)}`,
};
