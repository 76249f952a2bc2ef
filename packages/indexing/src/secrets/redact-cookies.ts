import { looksRandom } from "./looks-random.ts";

const header = /\b(?:set-)?cookie["'*]{0,3}\s?[:=]\s?["'`]?(?=[\w.-]{1,80}=)/gi;
const optionOfCurl = /\s(?:-b|--cookie)\s{1,3}["']?(?=[\w.-]{1,80}=)/g;
const pair = /([\w.-]{1,80})=([^\s;,"'`]{1,4096})(?:;\s?|,\s?|(?=["'`\s]|$))/y;
const setting = /^(?:path|domain|expires|max-age|samesite|secure|httponly|priority|partitioned)$/i;
const shortest = 8;

/** Takes the values out of the cookies of a request or an answer, other than plain words and numbers. */
export function redactCookies(line: string): string {
  return [header, optionOfCurl].reduce(redactBehind, line);
}

function redactBehind(line: string, start: RegExp): string {
  let kept = "";
  let done = 0;
  for (const match of line.matchAll(start)) {
    pair.lastIndex = match.index + match[0].length;
    if (pair.lastIndex < done) continue;
    for (let at = pair.lastIndex; ; at = pair.lastIndex) {
      const found = pair.exec(line);
      if (found === null) break;
      const [, name = "", value = ""] = found;
      if (setting.test(name) || !isSession(value)) continue;
      const from = at + name.length + 1;
      kept += `${line.slice(done, from)}[redacted: session cookie]`;
      done = from + value.length;
    }
  }
  return kept + line.slice(done);
}

function isSession(value: string): boolean {
  if (value.startsWith("[redacted")) return false;
  return looksRandom(value) || (value.length >= shortest && /\d/.test(value) && /[a-z]/i.test(value));
}
