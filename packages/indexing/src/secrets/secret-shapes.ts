/** A kind of secret that can be told by how it begins and what follows. */
export interface SecretShape {
  /** What it is. Stands in the place of the secret, so that a search for it finds the line. */
  name: string;
  /** The beginnings, each of two characters or more, with spaces between. No letter or digit may stand before. */
  starts: string;
  /** What follows one of them. */
  rest: RegExp;
}

/** A kind of secret whose beginning says nothing. */
interface LooseShape {
  name: string;
  /** What a line must hold to be looked at. */
  holds: string;
  /** The whole. No letter or digit may stand before. */
  pattern: RegExp;
}

/**
 * The shapes. Of two that fit at one place the first counts. Lengths are a little below what is issued today. A class
 * without an upper bound may only stand at the end of `rest`, or a long line takes quadratic time.
 */
export const secretShapes: readonly SecretShape[] = [
  // Models
  { name: "Anthropic key", starts: "sk-ant-", rest: /[\w-]{30,}/ },
  { name: "OpenRouter key", starts: "sk-or-v", rest: /\d-[0-9a-f]{40,}/ },
  { name: "Langfuse key", starts: "sk-lf-", rest: /[0-9a-f-]{30,}/ },
  { name: "OpenAI key", starts: "sk-proj- sk-svcacct- sk-admin- sk-None-", rest: /[\w-]{30,}/ },
  { name: "OpenAI key", starts: "sk-", rest: /[A-Za-z0-9]{16,30}T3BlbkFJ[A-Za-z0-9]{16,}/ },
  { name: "OpenAI-style key", starts: "sk-", rest: /[A-Za-z0-9]{20,}/ },
  { name: "Google API key", starts: "AIza", rest: /[\w-]{35}/ },
  { name: "Google API key", starts: "AQ.Ab", rest: /[\w-]{40,}/ },
  { name: "Groq key", starts: "gsk_", rest: /[A-Za-z0-9]{40,}/ },
  { name: "xAI key", starts: "xai-", rest: /[A-Za-z0-9]{40,}/ },
  { name: "Perplexity key", starts: "pplx-", rest: /[A-Za-z0-9]{32,}/ },
  { name: "Replicate token", starts: "r8_", rest: /[A-Za-z0-9]{30,}/ },
  { name: "Hugging Face token", starts: "hf_ api_org_", rest: /[A-Za-z0-9]{30,}/ },
  { name: "NVIDIA key", starts: "nvapi-", rest: /[\w-]{40,}/ },
  { name: "Cerebras key", starts: "csk-", rest: /[a-z0-9]{40,}/ },
  { name: "Fireworks key", starts: "fw_", rest: /(?=[A-Za-z]{0,40}\d)[A-Za-z0-9]{20,}/ },
  { name: "Voyage key", starts: "pa-", rest: /(?=[\da-z_-]{0,40}[A-Z])[\w-]{43}(?![\w-])/ },
  { name: "Jina key", starts: "jina_", rest: /[0-9a-f]{32}[\w-]{20,}/ },
  { name: "Pinecone key", starts: "pcsk_", rest: /\w{40,}/ },
  { name: "LangSmith key", starts: "lsv2_pt_ lsv2_sk_", rest: /[0-9a-f]{32}\w*/ },
  { name: "Tavily key", starts: "tvly-", rest: /[\w-]{24,}/ },
  { name: "ElevenLabs key", starts: "sk_", rest: /[0-9a-f]{48}/ },

  { name: "Together key", starts: "tgp_v1_", rest: /[\w-]{40,}/ },
  { name: "Firecrawl key", starts: "fc-", rest: /[0-9a-f]{32}(?![A-Za-z0-9])/ },
  { name: "E2B key", starts: "e2b_", rest: /[0-9a-f]{40}/ },

  // Clouds, databases and what runs on them
  { name: "AWS access key id", starts: "AKIA ASIA ABIA ACCA", rest: /[A-Z0-9]{16}(?![A-Za-z0-9])/ },
  { name: "AWS Bedrock key", starts: "ABSK", rest: /[A-Za-z0-9+/]{80,}={0,2}/ },
  { name: "Google OAuth token", starts: "ya29.", rest: /[\w.-]{20,}/ },
  { name: "Google OAuth token", starts: "1//0", rest: /[\w-]{30,}/ },
  { name: "Google client secret", starts: "GOCSPX-", rest: /[\w-]{20,}/ },
  { name: "Azure account key", starts: "AccountKey= SharedAccessKey=", rest: /[A-Za-z0-9+/]{40,}={0,2}/ },
  { name: "Azure SAS signature", starts: "sig=", rest: /[A-Za-z0-9%+/]{40,}={0,2}/ },
  { name: "Alibaba Cloud access key id", starts: "LTAI", rest: /[A-Za-z0-9]{16,}/ },
  { name: "Tencent Cloud secret id", starts: "AKID", rest: /[A-Za-z0-9]{32,}/ },
  { name: "DigitalOcean token", starts: "dop_v1_ doo_v1_ dor_v1_", rest: /[0-9a-f]{40,}/ },
  { name: "Cloudflare token", starts: "cfk_ cfut_ cfat_", rest: /[A-Za-z0-9]{40,}/ },
  { name: "Cloudflare token", starts: "v1.0-", rest: /[0-9a-f]{24}-[0-9a-f]{100,}/ },
  { name: "Heroku key", starts: "HRKU-", rest: /[\w-]{30,}/ },
  { name: "Fly.io token", starts: "fo1_", rest: /[\w-]{40,}/ },
  { name: "Fly.io token", starts: "fm1a_ fm1r_ fm2_", rest: /[A-Za-z0-9+/]{60,}={0,3}/ },
  { name: "Netlify token", starts: "nfp_ nfc_ nfu_ nfo_", rest: /[A-Za-z0-9]{30,}/ },
  { name: "Render key", starts: "rnd_", rest: /[A-Za-z0-9]{24,}/ },
  { name: "Supabase key", starts: "sbp_", rest: /[0-9a-f]{40}/ },
  { name: "Supabase key", starts: "sb_secret_", rest: /[\w-]{20,}/ },
  { name: "PlanetScale secret", starts: "pscale_tkn_ pscale_oauth_ pscale_pw_", rest: /[\w.=-]{30,}/ },
  { name: "Neon key", starts: "napi_", rest: /[a-z0-9]{40,}/ },
  { name: "Databricks token", starts: "dapi", rest: /[0-9a-f]{32}(?:-\d)?/ },
  { name: "Pulumi token", starts: "pul-", rest: /[0-9a-f]{40}/ },
  { name: "Tailscale key", starts: "tskey-", rest: /[a-z]{2,12}-[\w-]{20,}/ },
  { name: "Vault token", starts: "hvs. hvb. hvr.", rest: /[\w-]{24,}/ },
  { name: "Doppler token", starts: "dp.", rest: /(?:pt|st|sa|ct|scim|audit)\.(?:[\w-]{2,35}\.)?[A-Za-z0-9]{40,}/ },
  { name: "1Password token", starts: "ops_eyJ", rest: /[\w+/-]{60,}={0,3}/ },
  {
    name: "1Password secret key",
    starts: "A3-",
    rest: /[A-Z0-9]{6}-(?:[A-Z0-9]{11}|[A-Z0-9]{6}-[A-Z0-9]{5})(?:-[A-Z0-9]{5}){3}/,
  },
  { name: "Docker token", starts: "dckr_pat_ dckr_oat_", rest: /[\w-]{20,}/ },
  { name: "OpenShift token", starts: "sha256~", rest: /[\w-]{40,}/ },

  {
    name: "registry credentials",
    starts: "eyJhdXRocyI6 ewogICJhdXRocyI6 ewoJImF1dGhzIjog",
    rest: /[A-Za-z0-9+/]{20,}={0,2}/,
  },
  { name: "ClickHouse key", starts: "4b1d", rest: /(?=\w{0,37}[A-Z])[A-Za-z0-9]{38}(?![A-Za-z0-9])/ },
  { name: "Yandex key", starts: "AQVN", rest: /[\w-]{35,}/ },
  { name: "Yandex token", starts: "t1.", rest: /[\w-]{20,200}={0,2}\.[\w-]{80,}={0,2}/ },
  { name: "Vercel token", starts: "vcp_ vci_ vca_ vcr_ vck_", rest: /[A-Za-z0-9]{24,}/ },
  { name: "Scalingo token", starts: "tk-us- tk-eu-", rest: /[\w-]{40,}/ },
  { name: "Defined Networking token", starts: "dnkey-", rest: /[\w=-]{26}-[\w=-]{50,}/ },
  { name: "request signature", starts: "X-Amz-Signature= X-Goog-Signature=", rest: /[0-9A-Fa-f]{60,}/ },
  { name: "access code", starts: "code=", rest: /[\w/+-]{40,100}(?:=|%3D){1,2}(?!\w)/ },

  // Code, packages, monitoring
  { name: "GitHub token", starts: "ghp_ gho_ ghu_ ghs_ ghr_", rest: /[A-Za-z0-9]{30,}/ },
  { name: "GitHub token", starts: "github_pat_", rest: /\w{40,}/ },
  {
    name: "GitLab token",
    starts: "glpat- gldt- glrt- glrtr- glcbt- glptt- glft- glimt- glagent- gloas- glsoat- glffct- GR1348941",
    rest: /[\w.-]{20,}/,
  },
  { name: "Bitbucket password", starts: "ATBB", rest: /[A-Za-z0-9]{32}/ },
  { name: "Atlassian token", starts: "ATATT3 ATCTT3", rest: /[\w=-]{60,}/ },
  { name: "npm token", starts: "npm_", rest: /[A-Za-z0-9]{30,}/ },
  { name: "PyPI token", starts: "pypi-AgE", rest: /[\w-]{50,}/ },
  { name: "RubyGems key", starts: "rubygems_", rest: /[0-9a-f]{40,}/ },
  { name: "NuGet key", starts: "oy2", rest: /[a-z0-9]{43}(?![A-Za-z0-9])/ },
  { name: "crates.io token", starts: "cio", rest: /[A-Za-z0-9]{32}(?![A-Za-z0-9])/ },
  { name: "JFrog token", starts: "AKCp cmVmd", rest: /[A-Za-z0-9]{59,}/ },
  { name: "CircleCI token", starts: "CCIPAT_ CCIPRJ_", rest: /[\w-]{30,}/ },
  { name: "Buildkite token", starts: "bkua_", rest: /[0-9a-f]{40}/ },
  { name: "SonarQube token", starts: "sqp_ squ_ sqa_", rest: /[0-9a-f]{40}/ },
  { name: "Sentry token", starts: "sntrys_ sntryu_", rest: /[\w+/=-]{40,}/ },
  { name: "New Relic key", starts: "NRAK- NRII-", rest: /[\w-]{20,}/ },
  { name: "Grafana token", starts: "glsa_ glc_", rest: /[\w+/]{30,}={0,3}/ },
  { name: "Dynatrace token", starts: "dt0", rest: /[a-z]\d\d\.[A-Z0-9]{24}\.[A-Z0-9]{60,}/ },
  { name: "PostHog key", starts: "phx_", rest: /[A-Za-z0-9]{40,}/ },
  { name: "Postman key", starts: "PMAK-", rest: /[0-9a-f]{24}-[0-9a-f]{34}/ },

  { name: "Clojars token", starts: "CLOJARS_", rest: /[a-z0-9]{50,}/ },
  { name: "Harness token", starts: "pat. sat.", rest: /[\w-]{22}\.[0-9a-f]{24}\.[A-Za-z0-9]{20}/ },
  { name: "Infracost key", starts: "ico-", rest: /[A-Za-z0-9]{32}(?![A-Za-z0-9])/ },
  { name: "Octopus Deploy key", starts: "API-", rest: /(?=[A-Z]{0,25}\d)[A-Z0-9]{26}(?![A-Za-z0-9])/ },
  { name: "Prefect key", starts: "pnu_ pnb_", rest: /[A-Za-z0-9]{30,}/ },
  { name: "ReadMe key", starts: "rdme_", rest: /[a-z0-9]{60,}/ },
  { name: "Sourcegraph token", starts: "sgp_", rest: /(?:(?:[0-9A-Fa-f]{16}|local)_)?[0-9A-Fa-f]{40}/ },
  {
    name: "Authress key",
    starts: "sc_ ext_ scauth_ authress_",
    rest: /[a-z0-9]{5,30}\.[a-z0-9]{4,6}\.acc[_-][a-z0-9-]{10,32}\.[\w+/=-]{30,}/,
  },
  { name: "SettleMint token", starts: "sm_aat_ sm_pat_ sm_sat_", rest: /[A-Za-z0-9]{16,}/ },
  { name: "Axiom token", starts: "xaat- xapt-", rest: /[0-9a-f-]{36}/ },
  { name: "Honeycomb key", starts: "hcaik_ hcamk_", rest: /[a-z0-9]{40,}/ },
  { name: "Grafana token", starts: "eyJrIjoi", rest: /[A-Za-z0-9]{60,}={0,2}/ },
  { name: "Inngest key", starts: "signkey-", rest: /[a-z]{2,10}-[0-9a-f]{32,}/ },
  { name: "New Relic key", starts: "NRJS-", rest: /[0-9a-f]{19,}/ },

  // Chats, mail, payment and other services
  { name: "Slack token", starts: "xox", rest: /[abdeoprs](?:\.xox[bp])?-[\w%-]{20,}/ },
  { name: "Slack token", starts: "xapp-", rest: /\d-[\w-]{20,}/ },
  {
    name: "private calendar address",
    starts: "calendar.google.com/calendar/ical/",
    rest: /[^\s/]{3,100}\/private-[0-9a-f]{20,}/,
  },
  { name: "Slack webhook", starts: "hooks.slack.com/", rest: /(?:services|workflows|triggers)\/[\w+/-]{20,}/ },
  {
    name: "Discord webhook",
    starts: "discord.com/api/ discordapp.com/api/",
    rest: /(?:v\d{1,2}\/)?webhooks\/\d{10,22}\/[\w-]{40,}/,
  },
  { name: "Teams webhook", starts: "webhook.office.com/", rest: /webhookb2\/[\w@/-]{60,}/ },
  // The number of the bot in base64.
  {
    name: "Discord token",
    starts: "MD MT Mj Mz ND NT Nj Nz OD OT",
    rest: /[\w-]{21,27}\.[\w-]{6}\.[\w-]{27,}/,
  },
  { name: "Stripe key", starts: "sk_live_ sk_test_ sk_prod_ rk_live_ rk_test_ rk_prod_", rest: /[A-Za-z0-9]{16,}/ },
  { name: "webhook secret", starts: "whsec_", rest: /[A-Za-z0-9+/]{20,}={0,2}/ },
  { name: "Square token", starts: "sq0atp- sq0csp-", rest: /[\w-]{22,}/ },
  { name: "Square token", starts: "EAAA", rest: /[\w-]{60}(?![\w-])/ },
  { name: "Facebook token", starts: "EAA", rest: /[A-Za-z0-9]{80,}/ },
  { name: "Duffel token", starts: "duffel_live_ duffel_test_", rest: /[\w=-]{40,}/ },
  { name: "EasyPost key", starts: "EZAK EZTK", rest: /[A-Za-z0-9]{54}(?![A-Za-z0-9])/ },
  { name: "Flutterwave key", starts: "FLWSECK_TEST- FLWSECK-", rest: /[0-9A-Za-z]{12,}(?:-X)?/ },
  { name: "GoCardless token", starts: "live_ sandbox_", rest: /(?=[A-Za-z_-]{0,39}\d)[\w=-]{40}(?![\w-])/ },
  { name: "Lob key", starts: "live_ test_", rest: /[0-9a-f]{35}(?![A-Za-z0-9])/ },
  { name: "Paddle key", starts: "pdl_live_apikey_ pdl_sdbx_apikey_", rest: /[A-Za-z0-9_]{40,}/ },
  { name: "Shippo token", starts: "shippo_live_ shippo_test_", rest: /[0-9A-Fa-f]{40}/ },
  { name: "MailerSend token", starts: "mlsn.", rest: /[0-9a-f]{60,}/ },
  { name: "Firebase key", starts: "AAAA", rest: /[\w-]{7}:[\w-]{100,}/ },
  { name: "Adobe secret", starts: "p8e-", rest: /[A-Za-z0-9]{32}(?![A-Za-z0-9])/ },
  { name: "Frame.io token", starts: "fio-u-", rest: /[\w=-]{60,}/ },
  { name: "42 secret", starts: "s-s4t2ud- s-s4t2af-", rest: /[0-9a-f]{60,}/ },
  { name: "Plaid token", starts: "access-sandbox- access-development- access-production-", rest: /[0-9a-f-]{36}/ },
  { name: "Twilio key", starts: "SK", rest: /[0-9a-f]{32}(?![A-Za-z0-9])/ },
  { name: "SendGrid key", starts: "SG.", rest: /[\w-]{16,32}\.[\w-]{30,}/ },
  { name: "Mailgun key", starts: "key-", rest: /(?<![-_]key-)[0-9a-f]{32}(?![A-Za-z0-9])/ },
  { name: "Brevo key", starts: "xkeysib-", rest: /[0-9a-f]{64}-[A-Za-z0-9]{16}/ },
  { name: "Resend key", starts: "re_", rest: /[A-Za-z0-9]{8}_[A-Za-z0-9]{20,}/ },
  { name: "Shopify token", starts: "shpat_ shpca_ shppa_ shpss_ shpua_", rest: /[0-9A-Fa-f]{32}/ },
  { name: "Linear key", starts: "lin_api_ lin_oauth_", rest: /[A-Za-z0-9]{32,}/ },
  { name: "Notion token", starts: "ntn_", rest: /[A-Za-z0-9]{40,}/ },
  { name: "Notion token", starts: "secret_", rest: /[A-Za-z0-9]{43}(?![A-Za-z0-9])/ },
  { name: "Figma token", starts: "figd_", rest: /[\w-]{40,}/ },
  { name: "Airtable token", starts: "pat", rest: /[A-Za-z0-9]{14}\.[0-9a-f]{64}/ },
  { name: "Asana token", starts: "0/ 1/ 2/", rest: /\d{13,19}(?:\/\d{13,19})?:[0-9a-f]{32}/ },
  { name: "HubSpot token", starts: "pat-na pat-eu", rest: /\d-[0-9a-f-]{36}/ },
  { name: "ClickUp token", starts: "pk_", rest: /\d{5,10}_[A-Z0-9]{32}/ },
  { name: "Typeform token", starts: "tfp_", rest: /[\w.=-]{40,}/ },
  { name: "Contentful token", starts: "CFPAT-", rest: /[\w-]{40,}/ },
  { name: "Mapbox token", starts: "sk.eyJ", rest: /[\w-]{40,500}\.[\w-]{20,}/ },
  { name: "Dropbox token", starts: "sl.", rest: /(?:u\.)?[\w-]{100,}/ },

  // Not of one service
  { name: "password hash", starts: "$2a$ $2b$ $2y$", rest: /\d\d\$[A-Za-z0-9./]{53}/ },
  { name: "password hash", starts: "$1$ $5$ $6$ $y$ $apr1$", rest: /[A-Za-z0-9./=$]{24,}/ },
  { name: "age secret key", starts: "AGE-SECRET-KEY-1", rest: /[0-9A-Z]{50,}/ },
  { name: "age secret key", starts: "AGE-PLUGIN-", rest: /[A-Z0-9]{1,20}-1[0-9A-Z]{50,}/ },
  { name: "wallet private key", starts: "xprv yprv zprv", rest: /[1-9A-HJ-NP-Za-km-z]{100,}/ },
  { name: "Nostr private key", starts: "nsec1", rest: /[02-9ac-hj-np-z]{58}/ },
  // The beginning of a PEM block in base64: BEGIN, then PRIVATE, RSA, EC, DSA, ENCRYPTED or OPENSSH.
  {
    name: "private key",
    starts: "LS0tLS1CRUdJTi",
    rest: /(?:BQUklWQVRF|BSU0EgUFJJVkFUR|BFQyBQUklWQVRF|BEU0EgUFJJVkFUR|BFTkNSWVBURUQg|BPUEVOU1NIIFBSSVZBVEUg)[A-Za-z0-9+/]{20,}={0,2}/,
  },
  // Long headers only where a word begins: `eyJ-eyJ-eyJ-…` would take long.
  { name: "JWT", starts: "eyJ", rest: /(?:[\w-]{10,150}|(?<![-_]eyJ)[\w-]{151,8000})\.[\w-]{10,}(?:\.[\w-]*){0,3}/ },
];

/** See `secretShapes`. */
export const looseShapes: readonly LooseShape[] = [
  { name: "Telegram bot token", holds: ":AA", pattern: /(?:bot)?\d{8,10}:AA[\w-]{33,}/ },
  { name: "BitLocker recovery key", holds: "-", pattern: /(?:\d{6}-){7}\d{6}(?!\d)/ },
  { name: "Azure client secret", holds: "Q~", pattern: /[\w~.]{3}\dQ~[\w~.-]{30,}/ },
  { name: "Terraform token", holds: ".atlasv1.", pattern: /[A-Za-z0-9]{14}\.atlasv1\.[\w=-]{40,}/ },
  { name: "MaxMind key", holds: "_mmk", pattern: /[A-Za-z0-9]{6}_[A-Za-z0-9]{29}_mmk/ },
  { name: "private key", holds: '"d"', pattern: /(?<="d"\s?:\s?")[\w-]{40,}/ },
  { name: "private key", holds: '"k"', pattern: /(?<="k"\s?:\s?")[\w-]{40,}/ },
  { name: "Mailchimp key", holds: "-us", pattern: /[0-9a-f]{32}-us\d{1,2}(?![A-Za-z0-9])/ },
];
