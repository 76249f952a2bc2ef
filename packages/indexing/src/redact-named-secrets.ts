import { looksRandom } from "./looks-random.ts";

/** What a secret is called where it is named, and what it is then redacted as. The first that fits counts. */
const kinds: readonly { name: string; words: string }[] = [
  // The identifier, where it is already redacted, stands before the key in tables that are exported.
  { name: "AWS secret key", words: String.raw`(?:aws[ _-]?)?secret[ _-]?access[ _-]?key|AWS access key id\]` },
  {
    name: "password",
    words:
      "passw(?:or)?d|passwd|passphrase|pwd|passwort|kennwort|mot de passe|contraseña|senha|пароль|密码|密碼|口令|パスワード|비밀번호",
  },
  { name: "API key", words: "api[ _-]?key|api密钥|api金鑰" },
  {
    name: "key",
    words: "(?:access|secret|private|signing|encryption|master|auth|account|shared|service)[ _-]?key|密钥|密鑰|金鑰",
  },
  { name: "token", words: "token|bearer|authorization|_auth|SSWS|令牌|トークン|토큰" },
  { name: "secret", words: "(?<!:)secret(?:_key_base)?|credentials?" },
];

// Between a name and its value: `=`, `: "`, `:** \``, ` | `, `":"`, ` is `, ` (staging): `.
const between = String.raw`(?: ?\([^()]{0,40}\))?[\\"'\`*_)]{0,4}(?:\s{0,8}(?:[:=?+]?[:=]|=>|：|(?:is|ist)(?=\s)|[是为為は])[\s*_]{0,8}|\s{1,8}\|?\s{0,8}|\|\s{1,8}|,(?!\s))\\?`;
/** In one kind of quotation marks the others may stand. Looked at only so far: a longer one is taken whole if it fits. */
const longest = 100;
const value = String.raw`"(?=([!#-~]{16,${longest}}))|'(?=([!-&(-~]{16,${longest}}))|\`?(?=([!#-&(-;=?-_a-~]{16,${longest}}))`;
/** Of all names a part, which says quickly that a line has none. */
const anyName =
  /passw|pass?phrase|mot de passe|pwd|kennw|contras|senha|secret|token|key|auth|bearer|ssws|credential|[^\0-\x7f]/i;
const named = new RegExp(`(?:${kinds.map(({ words }) => `(${words})`).join("|")})${between}(?:${value})`, "gi");
/** Where something else begins: the next of several parameters, a marker, what is redacted already. */
const somethingElse = /(?:&(?:amp;)?|[;,])(?=[\w.-]{1,40}=)|-----|\[redacted:/;
/** What closes a sentence, a list or a bracket. */
const closing = /[.,;:!?)\]}*_|\\]+$/;

/** Takes out what a name says is a secret and what looks generated: `api_key = …`, `"password": "…"`, `Bearer …`. */
export function redactNamedSecrets(line: string): string {
  if (!anyName.test(line)) return line;
  let kept = "";
  let done = 0;
  for (const match of line.matchAll(named)) {
    const start = match.index + match[0].length;
    if (start < done) continue;
    const groups = match.slice(1);
    const found = groups.slice(kinds.length).find((group) => group !== undefined) ?? "";
    const [own = ""] = found.split(somethingElse, 1);
    const secret = own.replace(closing, "");
    if (!looksRandom(secret)) continue;
    kept += `${line.slice(done, start)}[redacted: ${kinds[groups.findIndex(Boolean)]?.name}]`;
    done = start + secret.length;
    if (secret.length === longest) done += /^[!#-&(-;=?-_a-~]*/.exec(line.slice(done))?.[0].length ?? 0;
  }
  return kept + line.slice(done);
}
