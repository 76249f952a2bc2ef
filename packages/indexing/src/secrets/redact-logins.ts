import { lineSigns } from "./line-signs.ts";
import { isExample, looksLikePassword } from "./looks-like-password.ts";
import { looksRandom } from "./looks-random.ts";

const address = /(:\/\/[^\s:/?#<>"'`]{0,100}:)(?!\d{1,5}[;?,])([^\s/<>"'`()[\]{}|\\]{1,200})@/g;
/** Of databases, queues and mail, where people forget to encode a sign: it goes to the last `@` before a host. */
const loose =
  /((?:postgres(?:ql)?|mysql|mariadb|mongodb|redis|rediss|amqps?|mssql|sqlserver|clickhouse|s?ftp|smtps?|imaps?|ldaps?|mqtts?)(?:\+\w{1,20})?:\/\/[^\s:/?#<>"'`]{0,100}:)((?!\d{1,5}[/;?,])[^\s"'`<>]{1,120})@(?=[\w.[-]{1,60}(?:[:/?,\s"'`;)\]}]|$))/gi;
const token = /(:\/\/)([\w-]{20,200})@(?=[\w.-]{1,100})/g;
const notAPassword =
  /^(?:[*.x]+|[$%]\{?\w+\}?%?|[$%]?[<{([].*|pass(?:word|wd)?|pwd|pw|secret|change-?me|(?:my|your|the)[-_]?(?:password|secret).*)$/i;
const encoded = /(\bbasic\s{1,4}|["']?\bauth["']?\s?[:=]\s{0,4}["'])([A-Za-z0-9+/]{8,}={0,2})/gi;

/** Where programs and people write down who they are and what proves it: what stands before, and the password. */
const logins: readonly { holds: RegExp; pattern: RegExp }[] = [
  {
    holds: /curl|wget/,
    pattern: /(\b(?:curl|wget)(?=\s).{0,300}?\s(?:-u|--user)[\s=]{1,3}["']?[^\s:"']{1,80}:)([!-&(-~]{4,100})/g,
  },
  // A source name of Go
  { holds: /@(?:tcp|unix)\(/, pattern: /((?:^|[\s"'`=])[\w.-]{1,60}:)([^\s"'`]{4,100}?)(?=@(?:tcp|unix)\()/g },
  { holds: /jdbc:oracle/, pattern: /(jdbc:oracle:\w{1,10}:[\w.-]{1,60}\/)([^\s"'`]{4,100}?)(?=@)/g },
  { holds: /mysql|mariadb/, pattern: /(\b(?:mysql|mariadb)[\w-]{0,10}(?=\s).{0,200}?\s-p)([!-&(-~]{4,100})/g },
  {
    holds: /sshpass|login/,
    pattern: /(\b(?:sshpass|(?:docker|podman|registry|az) login)(?=\s).{0,200}?\s-p\s?["']?)([!-&(-~]{4,100})/g,
  },
  { holds: /redis-cli/, pattern: /(\bredis-cli(?=\s).{0,200}?\s-a\s{1,3}["']?)([!-&(-~]{4,100})/g },
  {
    holds: /openssl/,
    pattern: /(\bopenssl(?=\s).{0,200}?\s(?:-k\s{1,3}|-pass(?:in|out)?\s{1,3}pass:)["']?)([!-&(-~]{4,100})/g,
  },
  { holds: /(?:store|key)pass/, pattern: /(\s-(?:src|dest)?(?:store|key)pass\s{1,3}["']?)([!-&(-~]{4,100})/g },
  {
    holds: /htpasswd/,
    pattern:
      /(\bhtpasswd\s(?=(?:-\w{1,9}\s){0,4}-\w{0,9}b)(?:-\w{1,9}\s){1,5}(?:\S{1,100}\s){1,2}["']?)([!-&(-~]{4,100})(?=\s*$)/g,
  },
  {
    holds: /smb|rpcclient/,
    pattern:
      /(\b(?:smbclient|smbget|rpcclient)(?=\s).{0,200}?\s(?:-U|--user)[\s=]{0,3}["']?[\w.\\/-]{1,60}%)([!-&(-~]{4,100})/g,
  },
  { holds: /chpasswd/, pattern: /(\becho\s["']?[\w.-]{1,60}:)([^\s"'|]{4,100})(?=["']?\s?\|.{0,20}chpasswd)/g },
  {
    holds: /mosquitto_|ldap/,
    pattern:
      /(\b(?:mosquitto_\w{3,4}(?=\s).{0,200}?\s(?:-P|--pw)|ldap[a-z]{3,8}(?=\s).{0,200}?\s-w)\s{1,3}["']?)([!-&(-~]{4,100})/g,
  },
  { holds: /token/, pattern: /(\s--(?:discovery-)?token[\s=]{1,3}["']?)([a-z0-9]{6}\.[a-z0-9]{16})(?![\w.])/g },
  // What an authenticator is set up with
  {
    holds: /otp|2fa|mfa|auth/i,
    pattern:
      /(\b(?:T?OTP|t?otp|2FA|2fa|MFA|mfa|[Aa]uthenticator)(?:[ _-](?:[Ss]ecret|[Kk]ey|[Ss]eed|SECRET|KEY|SEED)){0,2}(?: for [\w .-]{1,30})?\s?[:=]\s{0,3}["'`]?)((?:[A-Z2-7]{4}[ -]?){4,16}|(?=[a-z]{0,60}[2-7])[a-z2-7]{16,64})(?![A-Za-z0-9])/g,
  },
  // Login: admin / …
  {
    holds: /log[io]|cred|zugang|anmeldung|accès|acceso|логин/i,
    pattern:
      /((?<![\w\u0400-\u04ff])(?:login|logins|credentials|creds|zugang|zugangsdaten|anmeldung|accès|acceso|логин)\s?[:：]\s?[*`]{0,2}[\w.@-]{1,60}[*`]{0,2}\s?[/|]\s?[*`]{0,2})([!-)+-_a-~]{4,100})/gi,
  },
];
/** Whether a line holds any of it: one look, where most lines with a sign hold none. */
const anyLogin = new RegExp(logins.map(({ holds }) => holds.source).join("|"), "i");
/** The file of PostgreSQL: host, port, database, user and password. */
const pgpass = /^([\w.*-]{1,100}:(?:\d{2,5}|\*):[\w.*-]{1,60}:[\w.*-]{1,60}:)(\S{4,100})$/;
/** … is the password of the router. */
const turned =
  /["'`*]{0,2}\s(?:is|was|as|ist|war|als|est|es|è)\s(?:the|my|our|your|their|a|das|mein|unser|le|la|mi)\s(?:[\w-]{1,20}\s){0,3}(?:password|passwort|kennwort|passphrase|mot de passe|contraseña)(?=\s(?:for|of|to|on|at|für|von|vom|zum|zur|des|der|du|de|del)\s|[.,;!?)]|\s?$)/gi;
const wordBefore = /(?:^|[\s"'`(*])([!-~]{6,60})$/;
/** Twelve words or more, as wallets are restored with. */
const phrase =
  /(\b(?:seed|recovery|mnemonic|backup|wallet)(?:[ _-](?:phrase|words|seed|mnemonic))?\s?["'*]{0,3}(?:\s(?:is|ist))?\s?[:=]?\s{0,3}["'`*]{0,3})((?:[a-z]{3,8}[\s,]{1,2}){11,23}[a-z]{3,8})(?![a-z])/gi;

/** Takes passwords out of addresses, headers, commands and the like, where their place gives them away. */
export function redactLogins(line: string, signs: number): string {
  let kept = line;
  if (signs & lineSigns.address) kept = redactAddresses(kept);
  if (signs & lineSigns.header)
    kept = kept.replace(encoded, (match, before: string, code: string) =>
      isCredentials(code) ? before + redacted : match,
    );
  if (signs & lineSigns.login && anyLogin.test(kept)) {
    for (const { holds, pattern } of logins) if (holds.test(kept)) kept = kept.replace(pattern, redactTyped);
  }
  if (signs & lineSigns.password) kept = redactTurned(kept);
  if (signs & lineSigns.phrase)
    kept = kept.replace(phrase, (_, before: string) => `${before}[redacted: recovery phrase]`);
  return kept.replace(pgpass, redactTyped);
}

function redactAddresses(line: string): string {
  const replace = (match: string, before: string, password: string): string =>
    isOne(password) ? `${before}${redacted}@` : match;
  return line
    .replace(loose, replace)
    .replace(address, replace)
    .replace(token, (match, before: string, name: string) =>
      looksRandom(name) ? `${before}[redacted: token]@` : match,
    );
}

function redactTurned(line: string): string {
  let kept = line;
  for (const match of [...line.matchAll(turned)].toReversed()) {
    const [, word = ""] = wordBefore.exec(kept.slice(Math.max(0, match.index - 62), match.index)) ?? [];
    if (looksLikePassword(word))
      kept = `${kept.slice(0, match.index - word.length)}${redacted}${kept.slice(match.index)}`;
  }
  return kept;
}

function redactTyped(match: string, before: string, password: string): string {
  return isTyped(password) ? before + redacted : match;
}

const redacted = "[redacted: password]";

function isOne(password: string): boolean {
  return !notAPassword.test(password) && !password.includes("[redacted");
}

/** What follows an option may be a variable, a file or another option. */
function isTyped(word: string): boolean {
  return (
    !/^[$%<{[(*-]|\[redacted|^(?:\.{0,2}|~)\/|:\/\//.test(word) &&
    !isExample(word) &&
    (/[\d\W_]/.test(word) || looksRandom(word))
  );
}

function isCredentials(code: string): boolean {
  return /^[\x20-\x7e]+:[\x20-\x7e]+$/.test(Buffer.from(code, "base64").toString("latin1"));
}
