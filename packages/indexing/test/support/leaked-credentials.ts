import { base64, dashed, hex, high, jwt, low, number, privateKeyBlock, uuid, words } from "./secret-examples.ts";

/** A credential as it is found in somebody's notes. */
export interface LeakedCredential {
  what: string;
  text: string;
  /** What must not leave the machine. */
  secrets: readonly string[];
}

const list: LeakedCredential[] = [];

function leak(what: string, secret: string | readonly string[], text: (secret: string) => string): void {
  const secrets = typeof secret === "string" ? [secret] : secret;
  list.push({ what, secrets, text: text(secrets.join("\n")) });
}

const encoded = (text: string): string => Buffer.from(text).toString("base64");
const random = (): string => `Kx7${words(6)}!4z`;
const body = (): string[] => privateKeyBlock("RSA ", 8).slice(1, -1);

// Keys of services, by how they look.
leak("an Adobe client secret", `p8e-${low(32)}`, (key) => `adobe: ${key}`);
leak("a ClickHouse cloud key", `4b1d${words(38)}`, (key) => `ClickHouse uses ${key}`);
leak("a Clojars deploy token", `CLOJARS_${hex(60)}`, (key) => `lein deploys with ${key}`);
leak("a Duffel token", `duffel_live_${dashed(43)}`, (key) => `flights: ${key}`);
leak("an EasyPost key", `EZAK${words(54)}`, (key) => `post: ${key}`);
leak("a Flutterwave secret", `FLWSECK_TEST-${hex(32)}-X`, (key) => `pay: ${key}`);
leak("a Frame.io token", `fio-u-${dashed(64)}`, (key) => `video review ${key}`);
leak("a Harness token", `pat.${dashed(22)}.${hex(24)}.${words(20)}`, (key) => `harness login ${key}`);
leak("an Infracost key", `ico-${words(32)}`, (key) => `infracost ${key}`);
leak("a MaxMind key", `${words(6)}_${words(29)}_mmk`, (key) => `geoip ${key}`);
leak("an Octopus Deploy key", `API-${high(26)}`, (key) => `octo push ${key}`);
leak("a Prefect key", `pnu_${words(36)}`, (key) => `prefect ${key}`);
leak("a ReadMe key", `rdme_${low(70)}`, (key) => `readme ${key}`);
leak("a Scalingo token", `tk-us-${dashed(48)}`, (key) => `scalingo ${key}`);
leak("a Shippo token", `shippo_live_${hex(40)}`, (key) => `labels ${key}`);
leak("a Sourcegraph token", `sgp_${hex(16)}_${hex(40)}`, (key) => `src search ${key}`);
leak("a Yandex key", `AQVN${dashed(36)}`, (key) => `yandex ${key}`);
leak("an old Grafana key", `eyJrIjoi${words(80)}==`, (key) => `grafana ${key}`);
leak("a Slack cookie", `xoxd-${dashed(80)}`, (key) => `slack d ${key}`);
leak("a Firecrawl key", `fc-${hex(32)}`, (key) => `crawl with ${key}`);
leak("an E2B key", `e2b_${hex(40)}`, (key) => `sandbox ${key}`);
leak("a MailerSend token", `mlsn.${hex(64)}`, (key) => `mail ${key}`);
leak("an Axiom token", `xaat-${uuid()}`, (key) => `logs ${key}`);
leak("a Honeycomb key", `hcaik_${low(58)}`, (key) => `traces ${key}`);
leak("a Together key", `tgp_v1_${dashed(43)}`, (key) => `llama at ${key}`);
leak("a Paddle key", `pdl_live_apikey_${low(26)}_${words(22)}_${words(3)}`, (key) => `billing ${key}`);
leak("an Inngest key", `signkey-prod-${hex(64)}`, (key) => `jobs ${key}`);
leak("a Firebase server key", `AAAA${dashed(7)}:APA91b${dashed(134)}`, (key) => `push ${key}`);
leak("an OpenAI project key", `sk-proj-${dashed(120)}`, (key) => `const client = new OpenAI({ apiKey: "${key}" })`);
leak("an Anthropic key", `sk-ant-api03-${dashed(93)}AA`, (key) => `claude: ${key}`);
leak("a GitHub token in an address", `ghp_${words(36)}`, (key) => `git clone https://${key}@github.com/a/b.git`);
leak("a GitLab runner token", `glrt-${dashed(20)}`, (key) => `register --token ${key}`);
leak("a Stripe key", `sk_live_${words(24)}`, (key) => `stripe.setApiKey('${key}');`);
leak("an AWS key id", `AKIA${high(16)}`, (key) => `[default]\naws_access_key_id=${key}`);
leak("a Slack bot token", `xoxb-${number(12)}-${number(12)}-${words(24)}`, (key) => `bot: ${key}`);
leak("a hash in the shadow file", `$6$${words(8)}$${words(86)}`, (key) => `root:${key}:19000:0:99999:7:::`);
leak("a bcrypt hash", `$2b$12$${words(53)}`, (key) => `admin:${key}`);

// Names with values.
leak("a personal access token by its name", low(52), (key) => `AZURE_DEVOPS_PAT=${key}`);
leak("a PAT in YAML", low(52), (key) => `azure_pat: ${key}`);
leak("an API key that is a UUID", uuid(), (key) => `POSTMARK_API_KEY=${key}`);
leak("an API key that is a UUID, in a header", uuid(), (key) => `X-API-Key: ${key}`);
leak("a client secret that is a UUID", uuid(), (key) => `{"clientSecret": "${key}"}`);
leak("a Snyk token", uuid(), (key) => `export SNYK_TOKEN=${key}`);
leak("a Heroku key", uuid(), (key) => `heroku api key: ${key}`);
leak("a bearer that is a UUID", uuid(), (key) => `curl -H "Authorization: Bearer ${key}" https://example.com`);
leak("a Datadog key", hex(32), (key) => `DD_API_KEY=${key}`);
leak("a Twilio auth token", hex(32), (key) => `TWILIO_AUTH_TOKEN="${key}"`);
leak("a Mistral key", words(32), (key) => `MISTRAL_API_KEY: ${key}`);
leak("a Cohere key", words(40), (key) => `co = cohere.Client(api_key="${key}")`);
leak("an AWS secret", `wJ4${base64(37)}`, (key) => `AWS_SECRET_ACCESS_KEY=${key}`);
leak("an AWS session token", `IQoJb3JpZ2luX2VjE${base64(200)}`, (key) => `aws_session_token = ${key}`);
leak("a signing secret", hex(32), (key) => `SLACK_SIGNING_SECRET=${key}`);
leak("an Algolia admin key", hex(32), (key) => `algolia admin key: ${key}`);
leak("a secret of words", "mysupersecretjwtvalue", (key) => `JWT_SECRET=${key}`);
leak("a password in .env", "Passw0rd-prod", (key) => `DB_PASSWORD=${key}`);
leak("a password of letters in .env", "swordfishtango", (key) => `MYSQL_ROOT_PASSWORD=${key}`);
leak("PGPASSWORD before a command", random(), (key) => `PGPASSWORD=${key} psql -h db -U app`);
leak("a Kubernetes secret", encoded("S3cr3t-of-the-db"), (key) => `data:\n  username: YWRtaW4=\n  password: ${key}`);
leak("an environment list in JSON", random(), (key) => `{"name": "DB_PASSWORD", "value": "${key}"}`);
leak("an environment list in YAML", random(), (key) => `env:\n  - name: DB_PASSWORD\n    value: ${key}`);
leak("XML", random(), (key) => `<username>app</username><password>${key}</password>`);
leak("an attribute of XML", random(), (key) => `<add key="Password" value="${key}" />`);
leak("an app setting of XML", uuid(), (key) => `<apiKey>${key}</apiKey>`);
leak("INI", random(), (key) => `[client]\nuser=root\npassword=${key}`);
leak("TOML", random(), (key) => `[database]\npassword = "${key}"`);
leak("a properties file", random(), (key) => `spring.datasource.password=${key}`);
leak("a URL parameter", uuid(), (key) => `https://api.example.com/v1/list?api_key=${key}&page=2`);
leak("one-time codes", "JBSWY3DPEHPK3PXPJBSW", (key) => `otpauth://totp/Shop:anna?secret=${key}&issuer=Shop`);
leak("WireGuard", `${base64(42)}8=`, (key) => `[Interface]\nPrivateKey = ${key}\nAddress = 10.0.0.2/32`);
leak("a preshared key", `${base64(42)}8=`, (key) => `PresharedKey = ${key}`);
leak("redis.conf", random(), (key) => `requirepass ${key}`);
leak("Rails", hex(32), (key) => `RAILS_MASTER_KEY=${key}`);
leak("a private JWK", dashed(43), (key) => `{"kty":"OKP","crv":"Ed25519","d":"${key}","x":"abc"}`);
leak("a presigned address", hex(64), (key) => `https://b.s3.amazonaws.com/f?X-Amz-Expires=900&X-Amz-Signature=${key}`);
leak("an Azure function", `${dashed(54)}==`, (key) => `https://x.azurewebsites.net/api/go?code=${key}`);
leak("a Sentry address", hex(32), (key) => `SENTRY_DSN=https://${key}@o1.ingest.sentry.io/2`);

// Headers and cookies.
leak(
  "a session cookie",
  `s%3A${dashed(32)}.${base64(43).replaceAll(/[+/]/g, "x")}`,
  (key) => `Cookie: connect.sid=${key}`,
);
leak("a cookie that is set", hex(32), (key) => `Set-Cookie: SESSIONID=${key}; Path=/; HttpOnly; Secure`);
leak("one of several cookies", words(26), (key) => `cookie: theme=dark; lang=de; PHPSESSID=${key}; _ga=GA1.2.3`);
leak("a cookie of curl", hex(32), (key) => `curl -b "JSESSIONID=${key}" https://example.com`);
leak("a cookie in JSON", low(32), (key) => `{"name": "sessionid", "value": "${key}", "domain": ".example.com"}`);
leak("a cookie file", low(32), (key) => `.example.com\tTRUE\t/\tTRUE\t1893456000\tsessionid\t${key}`);
leak("a Django cookie", low(32), (key) => `requests.get(url, cookies={"sessionid": "${key}"})`);
leak("basic credentials", encoded("anna:Sommer-2026"), (key) => `Authorization: Basic ${key}`);
leak("a token header", words(32), (key) => `X-Auth-Token: ${key}`);
leak("a JWT", jwt(), (key) => `localStorage jwt ${key}`);

// Logins of programs.
leak("docker config", encoded("anna:pa55word"), (key) => `{"auths": {"ghcr.io": {"auth": "${key}"}}}`);
leak(
  "docker config in lines",
  encoded("anna:tr0ub4dor&3"),
  (key) => `"https://index.docker.io/v1/": {\n\t"auth": "${key}"\n}`,
);
leak(
  "a pull secret",
  encoded(`{"auths":{"r.io":{"username":"a","password":"${words(12)}"}}}`),
  (key) => `.dockerconfigjson: ${key}`,
);
leak("npm", encoded("anna:correcthorse9"), (key) => `//registry.example.com/:_auth=${key}`);
leak("netrc", random(), (key) => `machine api.heroku.com login anna@example.com password ${key}`);
leak("pgpass", random(), (key) => `db.example.com:5432:app:anna:${key}`);
leak("curl -u", random(), (key) => `curl -u anna:${key} https://api.example.com`);
leak("mysql -p", "S3cretRoot99", (key) => `mysql -u root -p${key} app < dump.sql`);
leak("sshpass", random(), (key) => `sshpass -p '${key}' ssh root@nas`);
leak("docker login", random(), (key) => `docker login -u anna -p ${key} registry.example.com`);
leak("redis-cli", random(), (key) => `redis-cli -h cache -a ${key} ping`);
leak("a flag", random(), (key) => `./deploy --user anna --password ${key}`);
leak("SQL", random(), (key) => `ALTER USER app WITH PASSWORD '${key}';`);
leak("MySQL", random(), (key) => `CREATE USER 'app'@'%' IDENTIFIED BY '${key}';`);

// Connection strings.
leak("a password with @", "p@ssw0rd@home", (key) => `postgres://app:${key}@db.example.com:5432/app`);
leak("a password with @ and /", "P@ss/w0rd#1", (key) => `DATABASE_URL=mysql://app:${key}@db.example.com:3306/app`);
leak("a user with @", "Xy9-zz-K2", (key) => `postgres://app@tenant:${key}@tenant.postgres.database.azure.com/app`);
leak("a Go source name", "p@ss:w0rd", (key) => `dsn := "app:${key}@tcp(127.0.0.1:3306)/app?parseTime=true"`);
leak("ADO.NET", "P@ssw0rd;1".slice(0, 8), (key) => `Server=db;Database=app;User Id=sa;Password=${key};Encrypt=True`);
leak("JDBC", random(), (key) => `jdbc:postgresql://db/app?user=app&password=${key}&ssl=true`);
leak("Oracle", "t1ger#99", (key) => `jdbc:oracle:thin:scott/${key}@//db.example.com:1521/svc`);
leak("libpq", random(), (key) => `psql "host=db user=app password=${key} sslmode=require"`);
leak("redis without a user", "a1-b2-c3", (key) => `REDIS_URL=redis://:${key}@cache:6379/0`);
leak("SMTP", "Mail@2026", (key) => `smtp://noreply@example.com:${key}@smtp.example.com:587`);
leak(
  "Azure storage",
  `${base64(86)}==`,
  (key) => `DefaultEndpointsProtocol=https;AccountName=a;AccountKey=${key};EndpointSuffix=core.windows.net`,
);

// On the next line.
leak("YAML on the next line", random(), (key) => `database:\n  password:\n    ${key}`);
leak("YAML in quotes on the next line", words(40), (key) => `api_key:\n  "${key}"`);
leak("a block of YAML", words(40), (key) => `token: |\n  ${key}\nother: 1`);
leak(
  "a folded block of YAML",
  [words(40), words(40), words(9)],
  (key) => `secret_key: >-\n  ${key.replaceAll("\n", "\n  ")}\nother: 1`,
);
leak("JSON on the next line", words(40), (key) => `{\n  "client_secret":\n    "${key}",\n  "id": 7\n}`);
leak("a UUID on the next line", uuid(), (key) => `"apiKey":\n  "${key}"`);
leak("Markdown on the next line", random(), (key) => `**Password:**\n\n\`${key}\``);
leak("a code block", words(40), (key) => `The API key:\n\n\`\`\`\n${key}\n\`\`\``);
leak("a table", random(), (key) => `| host | user | password |\n| --- | --- | --- |\n| nas | root | ${key} |`);

// Private keys.
leak(
  "PEM without BEGIN",
  [`MIIEpAIBAAKCAQEA${base64(48)}`, ...body()],
  (key) => `The key of the server:\n\n${key}\n\nIt is old.`,
);
leak(
  "PKCS #8 without BEGIN",
  [`MIIEvQIBADANBgkqhkiG9w0BAQEFAASC${base64(32)}`, ...body()],
  (key) => `key: |\n  ${key.replaceAll("\n", "\n  ")}`,
);
leak("OpenSSH without BEGIN", [`b3BlbnNzaC1rZXktdjEAAAAA${base64(46)}`, ...body()], (key) => key);
leak("PEM without BEGIN, with END", body(), (key) => `${key}\n-----END RSA PRIVATE${" KEY"}-----`);
leak("an EC key on one line", `MHcCAQEEI${base64(145)}==`, (key) => `EC_KEY=${key}`);
leak("an Ed25519 key", `MC4CAQAwBQYDK2VwBCIEI${base64(43)}`, (key) => `signer ${key}`);
leak("PuTTY", body(), (key) => `PuTTY-User-Key-File-3: ssh-rsa\nPrivate-Lines: 9\n${key}\nPrivate-MAC: ${hex(64)}`);
leak("PEM", body(), (key) => `-----BEGIN PRIVATE${" KEY"}-----\n${key}\n-----END PRIVATE${" KEY"}-----`);
leak("a service account", base64(64), (key) => `"private_key": "-----BEGIN PRIVATE${" KEY"}-----\\n${key}\\n-----END`);
leak(
  "a wallet",
  "ripple canyon ladder tunnel velvet orbit lemon castle dragon pencil winter harbor",
  (key) => `Seed phrase: ${key}`,
);

// Sentences.
leak("English", "Tr0ub4dor&3", (key) => `The root password for the NAS is ${key}.`);
leak("English, short", "hunter2", (key) => `The admin password is ${key}, do not tell anyone`);
leak("English, to a host", "blue42Horse", (key) => `Password to the staging server: ${key}`);
leak("English, turned round", "kiwi77Tree!", (key) => `${key} is the password of the router.`);
leak("English, past", "Winter2025!", (key) => `I changed the password for mail to ${key} yesterday.`);
leak("German", "Geheim#2026", (key) => `Das Root-Passwort für das NAS lautet ${key}.`);
leak("German, short", "s0nnenblume", (key) => `Das Kennwort vom Drucker ist ${key}`);
leak("French", "Bonjour!42", (key) => `Le mot de passe du serveur est ${key}.`);
leak("Spanish", "Hola2026!", (key) => `La contraseña del servidor es ${key}`);
leak("Portuguese", "Senha!9988", (key) => `A senha do banco é ${key}.`);
leak("Italian", "Ciao_2026!", (key) => `La password del NAS è ${key}`);
leak("Russian", "Zima2026!x", (key) => `Пароль от сервера: ${key}`);
leak("Russian, a dash", "Leto#4455", (key) => `Пароль для NAS — ${key}`);
leak("Chinese", "Qw3rty#99", (key) => `NAS 的 root 密码是 ${key}。`);
leak("Chinese, to a host", "Zx81-Spec!", (key) => `服务器的登录密码为：${key}`);
leak("Japanese", "Sakura#26", (key) => `NASのrootパスワードは ${key} です。`);
leak("Korean", "Seoul!2026", (key) => `서버 비밀번호는 ${key} 입니다.`);
leak("a login", "Kaffee#77", (key) => `Login: admin / ${key}`);
leak("user and pass", "m0nkey!bar", (key) => `user: root pass: ${key}`);
leak("a list", "Zebra-99x", (key) => `- **NAS password** – ${key}`);

// Written when the code was there, by looking for what it misses.
const found: readonly (readonly [what: string, secret: string, text: string])[] = [
  ["deepgram", "9f8e7d6c5b4a39281706f5e4d3c2b1a09f8e7d6c", "deepgram_key = '9f8e7d6c5b4a39281706f5e4d3c2b1a09f8e7d6c'"],
  ["wandb login", "9f8e7d6c5b4a39281706f5e4d3c2b1a09f8e7d6d", "wandb login 9f8e7d6c5b4a39281706f5e4d3c2b1a09f8e7d6d"],
  ["linkedin", "WPL_AP1.k3jD9sLx82kQ.dGhpcw==", "client secret: WPL_AP1.k3jD9sLx82kQ.dGhpcw=="],
  ["json pw", "Hund3huette", '{"user":"anna","password":"Hund3huette"}'],
  ["yaml pw", "Hund3huette", "  passwd: Hund3huette"],
  ["ansible", "Hund3huette", "ansible_ssh_pass=Hund3huette ansible_user=root"],
  ["wpa psk", "Hund3huette", "wpa_passphrase=Hund3huette"],
  [
    "laravel",
    "base64:9dK3jfKSLdk39fjs83kfjs93kdjf83jfks93jf83jdk=",
    "APP_KEY=base64:9dK3jfKSLdk39fjs83kfjs93kdjf83jfks93jf83jdk=",
  ],
  [
    "django",
    "django-insecure-9dk3jf!sldk39fjs83kf_s93kdjf83jfks93jf83jdk",
    "SECRET_KEY = 'django-insecure-9dk3jf!sldk39fjs83kf_s93kdjf83jfks93jf83jdk'",
  ],
  [
    "es apikey",
    "VnVhQ2ZHY0JDZGJrUW0tZTVhT3g6dWkybHAyYXhUTm1zeWFrdzl0dk5udw==",
    "Authorization: ApiKey VnVhQ2ZHY0JDZGJrUW0tZTVhT3g6dWkybHAyYXhUTm1zeWFrdzl0dk5udw==",
  ],
  ["grafana basic", "admin:gr4fana!x", "http://admin:gr4fana!x@grafana.local:3000"],
  ["smb", "S4mba#Pass", "mount -t cifs -o username=anna,password=S4mba#Pass //nas/share /mnt"],
  ["ssh prose", "t0psecretX", "ssh root@10.0.0.3, the password's t0psecretX"],
  ["root pw is", "t0psecretX", "root pw: t0psecretX"],
  ["router pw table", "Fritz!Box77", "Router | admin | password: Fritz!Box77"],
  ["german", "Fritz!Box77", "Passwort fürs Backup: Fritz!Box77"],
  ["german2", "Fritz!Box77", "Das PW für den Server ist Fritz!Box77."],
  ["italian", "Fritz!Box77", "la password è: Fritz!Box77"],
  ["zh2", "Fritz!Box77", "管理员密码：Fritz!Box77"],
  ["zh3", "Fritz!Box77", "把密码改成 Fritz!Box77 了"],
  ["ja2", "Fritz!Box77", "パスワード：Fritz!Box77"],
  ["session", "9f8e7d6c5b4a39281706f5e4d3c2b1a0", "Cookie: session=9f8e7d6c5b4a39281706f5e4d3c2b1a0"],
  [
    "next-auth",
    "eyJhbGciOiJkaXIiLCJlbmMiOiJBMjU2R0NNIn0..k3jD9sLx82kQ.abcdefghijklmnopqrstuvwxyz0123",
    "Set-Cookie: __Secure-next-auth.session-token=eyJhbGciOiJkaXIiLCJlbmMiOiJBMjU2R0NNIn0..k3jD9sLx82kQ.abcdefghijklmnopqrstuvwxyz0123; Path=/",
  ],
  ["curl H", "k3jD9sLx82kQ7dk3", "curl -H 'X-Api-Key: k3jD9sLx82kQ7dk3' https://x"],
  ["mongo @", "p@ss:wo@rd1", "mongodb+srv://app:p@ss:wo@rd1@cluster0.abc.mongodb.net/db"],
  ["jdbc sqlserver", "P@ss/123", "jdbc:sqlserver://db:1433;user=sa;password=P@ss/123;encrypt=true"],
  ["rclone", "k3jD9sLx82kQ7dk3fjsKSL", "pass = k3jD9sLx82kQ7dk3fjsKSL"],
  ["helm", "Hund3huette", "--set auth.password=Hund3huette"],
  ["terraform", "Hund3huette", '  master_password = "Hund3huette"'],
  ["spring yaml", "Hund3huette", "    password: 'Hund3huette'"],
  ["toml token", "k3jD9sLx82kQ7dk3fjsKSLdk", 'token = "k3jD9sLx82kQ7dk3fjsKSLdk"'],
  ["pypirc", "Hund3huette", "[pypi]\nusername = anna\npassword = Hund3huette"],
  ["gradle", "Hund3huette", "signing.password=Hund3huette"],
  ["htpasswd", "$apr1$k3jD9sLx$82kQ7dk3fjsKSLdk3jD9s/", "anna:$apr1$k3jD9sLx$82kQ7dk3fjsKSLdk3jD9s/"],
  ["2fa", "JBSWY3DPEHPK3PXP", "TOTP secret: JBSWY3DPEHPK3PXP"],
  ["license", "XK3JD-9SLX8-2KQ7D-K3FJS-KSLDK", "license key: XK3JD-9SLX8-2KQ7D-K3FJS-KSLDK"],
  ["password in question", "t0psecretX!", "Why is login with password t0psecretX! refused?"],
  ["use X as password", "t0psecretX!", "Use t0psecretX! as the password for the demo server."],
  ["password → ", "t0psecretX!", "NAS password → t0psecretX!"],
  ["multi col", "t0psecretX!", "| Service | Login | Passwort |\n|---|---|---|\n| NAS | anna | t0psecretX! |"],
  ["csv", "t0psecretX!", "name,url,username,password\nnas,https://nas,anna,t0psecretX!"],
  ["1password export", "t0psecretX!", "username: anna\npassword: t0psecretX!\nurl: https://nas"],
  ["json next-line", "k3jD9sLx82kQ7dk3fjsKSLdk", '"access_token":\n    "k3jD9sLx82kQ7dk3fjsKSLdk"'],
  [
    "env export UUID",
    "7c28fcfa-32dc-4d6e-8aa2-4c1cc4827192",
    "export ELEVEN_API_KEY='7c28fcfa-32dc-4d6e-8aa2-4c1cc4827192'",
  ],
  [
    "pat",
    "k3jd9slx82kq7dk3fjsksldkk3jd9slx82kq7dk3fjsksldk3jd9",
    "GITEA_PAT=k3jd9slx82kq7dk3fjsksldkk3jd9slx82kq7dk3fjsksldk3jd9",
  ],
];
const typed = `Wx7${words(5)}!q2`;
const commands: readonly [what: string, text: string][] = [
  ["openssl", `openssl enc -d -aes-256-cbc -k ${typed} -in f`],
  ["openssl with a source", `openssl rsa -in a.pem -passin pass:${typed}`],
  ["keytool", `keytool -list -keystore x.jks -storepass ${typed} -keypass ${typed}`],
  ["htpasswd", `htpasswd -b .htpasswd anna ${typed}`],
  ["smbclient", `smbclient //nas/share -U anna%${typed}`],
  ["chpasswd", `echo "anna:${typed}" | sudo chpasswd`],
  ["mosquitto", `mosquitto_pub -u anna -P ${typed} -t lights`],
  ["ldapsearch", `ldapsearch -D cn=admin -w ${typed} -b dc=example`],
];
for (const [what, text] of commands) leak(`a password in a command: ${what}`, typed, () => text);
for (const name of "كلمة المرور|סיסמה|रหัส पासवर्ड|รหัสผ่าน|mật khẩu|passord|lozinka".split("|"))
  leak(`a password in another language: ${name}`, typed, (password) => `${name}: ${password}`);
leak("a key of kubeadm", `${low(6)}.${low(16)}`, (key) => `kubeadm join 10.0.0.1:6443 --token ${key}`);
leak("an unseal key", `${base64(42)}0=`, (key) => `Unseal Key 1: ${key}`);
leak("a key with a point in its name", hex(32), (key) => `config/master.key is ${key}`);
leak("a key of ASP.NET", hex(48), (key) => `<machineKey validationKey="${key}" />`);
leak("a key as an argument", `aB3$kz|9Q%${words(50)}`, (key) => `define('AUTH_KEY', '${key}');`);
leak("a key of Wi-Fi", "korrekt-pferd-7", (key) => `network={ psk="${key}" }`);
leak("a seed of an authenticator", "JBSW Y3DP EHPK 3PXP", (key) => `2FA secret: ${key}`);
leak("a seed of an authenticator, small", "jbswy3dpehpk3pxp", (key) => `totp key: ${key}`);
leak("a recovery key of FileVault", "ABCD-EF12-3GHI-JK45-LMN6-OPQ7", (key) => `FileVault recovery key ${key}`);
leak("a recovery key of BitLocker", Array.from({ length: 8 }, () => number(6)).join("-"), (key) => `BitLocker ${key}`);
leak(
  "a Telegram bot in an address",
  `${number(9)}:AA${dashed(33)}`,
  (key) => `https://api.telegram.org/bot${key}/getMe`,
);
leak(
  "a private calendar",
  hex(32),
  (key) => `https://calendar.google.com/calendar/ical/a%40b.com/private-${key}/basic.ics`,
);
leak(
  "a static key of OpenVPN",
  [`7b${hex(28)}7b`, `7b${hex(28)}7b`],
  (key) => `-----BEGIN OpenVPN Static key V1-----\n${key}\n-----END OpenVPN Static key V1-----`,
);
for (const [what, secret, text] of found) list.push({ what: `${what}, found later`, secrets: [secret], text });

export const leakedCredentials: readonly LeakedCredential[] = list;

/** What stands in the text of a credential after it was redacted, in pieces that would be of use. */
export function leaksFrom({ secrets }: LeakedCredential, redacted: string): string[] {
  return secrets.filter((secret) => {
    const half = Math.ceil(secret.length / 2);
    return [secret.slice(0, half), secret.slice(-half)].some((piece) => redacted.includes(piece));
  });
}
