export { createLoopbackServer, listenOn } from "./listen.ts";
export { isSameSecret } from "./same-secret.ts";
export { createHostCheck, loopbackUrl, type LoopbackPlace } from "./served-hosts.ts";
