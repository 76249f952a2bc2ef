import networkFaults from "./network-faults.json" with { type: "json" };
import { ProviderError } from "../contract/provider-error.ts";
import { messageOf } from "../contract/errors.ts";

const faults = networkFaults.map(([pattern = "", words = ""]) => [new RegExp(pattern), words] as const);

/** `fetch` for plugins: follows no redirect, honours proxy variables, bypasses the proxy for this machine. */
export async function request(address: string | URL, init: RequestInit = {}): Promise<Response> {
  const url = new URL(address);
  const proxy = proxyOf(url);
  // `NODE_USE_ENV_PROXY` would send requests for this machine to the proxy, too.
  const isDirect = proxy === undefined && !(isThisMachine(url) && process.env["NODE_USE_ENV_PROXY"] === "1");
  if (isDirect) return await fetch(url, { ...init, redirect: "manual" });
  const { Agent, ProxyAgent, fetch: send } = await import("undici");
  const { body, headers, method = "GET", signal = null } = init;
  // Forms and files of this process are unknown to another copy of `fetch`: it gets their bytes.
  const packed = typeof (body ?? "") === "string" ? undefined : new Response(body);
  const sent = new Headers(headers);
  const type = packed?.headers.get("content-type");
  if (type && !sent.has("content-type")) sent.set("content-type", type);
  const response = await send(url, {
    method,
    signal,
    headers: [...sent],
    body: packed ? new Uint8Array(await packed.arrayBuffer()) : ((body as string | null | undefined) ?? null),
    redirect: "manual",
    dispatcher: proxy ? agentOf(proxy.url.href, (uri) => new ProxyAgent(uri)) : agentOf("", () => new Agent()),
  });
  return response as unknown as Response;
}

const agents = new Map<string, unknown>();

function agentOf<Made>(key: string, make: (key: string) => Made): Made {
  if (!agents.has(key)) agents.set(key, make(key));
  return agents.get(key) as Made;
}

function proxyOf(url: URL): { url: URL; variable: string } | undefined {
  const [variable, written] = variableOf(url.protocol === "https:" ? "HTTPS_PROXY" : "HTTP_PROXY");
  if (written === undefined || isThisMachine(url) || isExcluded(url, variableOf("NO_PROXY")[1] ?? "")) return undefined;
  const proxy = URL.parse(/^\w+:\/\//.test(written) ? written : `http://${written}`);
  if (proxy && /^https?:$/.test(proxy.protocol)) return { url: proxy, variable };
  throw new ProviderError("auth", `${variable} is not a proxy address: write http://, its host and its port`);
}

/** Lower case has precedence, as in other programs. */
function variableOf(name: string): [name: string, value: string | undefined] {
  const found = [name.toLowerCase(), name].find((each) => process.env[each]?.trim());
  return [found ?? name, found && process.env[found]?.trim()];
}

export function isThisMachine({ hostname }: URL): boolean {
  return /^(?:(?:.*\.)?localhost|127(?:\.\d+){3}|\[::1\])$/.test(hostname);
}

/** `example.com`, `.example.com` and `*.example.com` match the host and its subdomains; a port is compared if given. */
function isExcluded({ host, hostname, port, protocol }: URL, list: string): boolean {
  const full = port === "" ? `${host}:${protocol === "https:" ? 443 : 80}` : host;
  return list
    .toLowerCase()
    .split(/[\s,]+/)
    .filter((entry) => entry !== "")
    .map((entry) => entry.replace(/^\*?\./, ""))
    .some((entry) => entry === "*" || [hostname, full].some((name) => name === entry || name.endsWith(`.${entry}`)));
}

/** Returns a `transient` error. `hide` redacts secrets; `hasCost`: the answer had begun. */
export function networkFailure(
  error: unknown,
  options: { url: string | URL; hide?: (text: string) => string; hasCost?: boolean },
): ProviderError {
  if (ProviderError.is(error)) return error;
  const { url, hide = String, hasCost } = options;
  const { origin } = new URL(url);
  const chain: Error[] = [];
  for (let at = error; at instanceof Error && chain.length < 8; at = at.cause) chain.push(at);
  const code = chain
    .map((each) => ("code" in each ? each.code : undefined))
    .findLast((each) => typeof each === "string");
  const cause = chain.at(-1);
  const all = [code, cause?.name, ...chain.map(({ message }) => message)].join(" ");
  const known = faults.find(([pattern]) => pattern.test(all))?.[1];
  const proxy = proxyOf(new URL(url));
  const through = proxy ? ` through the proxy ${proxy.url.host} (${proxy.variable})` : "";
  const shown = code === undefined ? "" : ` (${String(code)})`;
  const words = known ?? hide(messageOf(cause ?? error));
  const text = `cannot reach ${origin}${through}${shown}: ${words}`;
  return new ProviderError("transient", text, { cause: error, hasCost });
}
