/** Begins the plugin, so that `memslot connect` knows its own file. */
export const pluginMark = "// Written by memslot connect";

/** An OpenCode plugin that forwards events to `memslot hook`. Every call has a deadline; no error leaves it. */
export function pluginText(hook: string): string {
  return `${pluginMark}: \`memslot connect opencode --remove\` takes it away, and the next connect overwrites it.
import { exec } from "node:child_process";

const hook = ${JSON.stringify(hook)};
// Longer than the deadline of the hook.
const deadlineMs = 1000 + (Number(process.env.MEMSLOT_HOOK_DEADLINE_MS) || 5000);

function ask(event) {
  return new Promise((resolve) => {
    const options = { timeout: deadlineMs, maxBuffer: 16_000_000, windowsHide: true };
    const child = exec(hook, options, (_, answer) => {
      try {
        resolve(JSON.parse(answer));
      } catch {
        resolve({});
      }
    });
    child.stdin.on("error", () => {});
    child.stdin.end(JSON.stringify(event));
  }).catch(() => ({}));
}

function within(promise) {
  let timer;
  const late = new Promise((_, reject) => (timer = setTimeout(() => reject(new Error("no answer")), deadlineMs)));
  return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}

const isSaid = ({ type, synthetic, ignored }) => type === "text" && !synthetic && !ignored;
const loaded = Symbol.for("memslot.opencode");

export const memslot = async ({ client, directory }) => {
  // OpenCode may load a plugin twice.
  const folders = (globalThis[loaded] ??= new Set());
  if (folders.has(directory)) return {};
  folders.add(directory);

  const sessions = new Map();
  const sending = new Set();
  const tell = (name, id, more) => ask({ hook_event_name: name, session_id: id, cwd: directory, ...more });

  // Undefined for a subagent, which is a session with a parent: another model writes there in the user's place.
  async function sessionOf(id) {
    if (!sessions.has(id)) {
      const { data } = await within(client.session.get({ path: { id } })).catch(() => ({}));
      // Without an answer it counts as a subagent, and the next event asks again.
      if (!data) return undefined;
      if (!sessions.has(id)) sessions.set(id, data.parentID ? undefined : { id, stored: new Set() });
    }
    return sessions.get(id);
  }

  async function newMessages({ id: session, stored }) {
    const { data = [] } = await within(client.session.messages({ path: { id: session } }));
    return data.flatMap(({ info: { id, role, time, summary }, parts }) => {
      const text = parts.flatMap((part) => (isSaid(part) ? part.text : [])).join("\\n");
      if (text === "" || stored.has(id) || (role === "assistant" && (summary || !time.completed))) return [];
      return { id, role, text, at: new Date(time.created).toISOString() };
    });
  }

  async function send(name, id) {
    try {
      const session = await sessionOf(id);
      const messages = session ? await newMessages(session) : [];
      if (!session || (messages.length === 0 && name === "stop")) return;
      const { taken } = await tell(name, id, { messages });
      if (taken === true) for (const message of messages) session.stored.add(message.id);
    } catch {
      // Messages that the hook did not store are sent again with the next turn.
    }
  }

  function report(name, id) {
    const done = send(name, id).finally(() => sending.delete(done));
    sending.add(done);
    return done;
  }

  // OpenCode has deleted the session, or no longer answers: its messages were stored before.
  async function end(session) {
    await Promise.all(sending);
    sessions.delete(session?.id);
    if (session?.stored.size > 0) await tell("session_end", session.id);
  }

  async function start(session, source) {
    const { text } = await tell("session_start", session.id, { source });
    session.start = text ?? "";
  }

  return {
    event: async ({ event: { type, properties } }) => {
      if (type === "session.idle") await report("stop", properties.sessionID);
      if (type === "session.deleted") await end(sessions.get(properties.info.id));
    },
    "chat.message": async ({ sessionID }, { message, parts }) => {
      const session = await sessionOf(sessionID);
      if (!session) return;
      // First, so that the prompt does not repeat notes of the start.
      if (session.start === undefined) await start(session, "startup");
      const prompt = parts.find(isSaid);
      if (!prompt) return;
      const { text } = await tell("prompt", sessionID, { prompt: prompt.text, turn_id: message.id });
      // No model gets an ignored part, except as below.
      const marks = { synthetic: true, ignored: true, metadata: { memslot: true } };
      if (text) parts.push({ ...prompt, id: \`\${prompt.id}m\`, text, ...marks });
    },
    // Models that write titles do not get this list. OpenCode calls this once more before a model writes a summary.
    "experimental.chat.messages.transform": async (_, { messages }) => {
      const session = messages[0] && (await sessionOf(messages[0].info.sessionID));
      if (!session) return;
      const isSummary = session.compacting;
      session.compacting = false;
      if (isSummary) return;
      const isNew = ({ info }) => info.summary === true && !info.error && info.time.created >= session.compactedAt;
      if (messages.some(isNew)) {
        session.compactedAt = undefined;
        await start(session, "compact");
      }
      // A task that is already scheduled takes these messages for the title. After it, they are replaced, not changed.
      await new Promise((resolve) => setTimeout(() => setImmediate(resolve), 0));
      const first = messages.findIndex(({ info }) => info.role === "user");
      for (const [index, { info, parts: before }] of messages.entries()) {
        const parts = before.map((part) => (part.metadata?.memslot ? { ...part, ignored: false } : part));
        const about = { id: \`\${info.id}m\`, messageID: info.id, sessionID: session.id, synthetic: true };
        if (index === first && session.start) parts.unshift({ ...about, type: "text", text: session.start });
        messages[index] = { info, parts };
      }
    },
    "experimental.session.compacting": async ({ sessionID }) => {
      await report("compact", sessionID);
      const session = await sessionOf(sessionID);
      if (session) Object.assign(session, { compacting: true, compactedAt: Date.now() });
    },
    dispose: async () => {
      // OpenCode loads the plugin again when its configuration changes.
      folders.delete(directory);
      // The last sessions come first: the others get their digests with a later start if the time is over.
      const all = async () => {
        for (const session of [...sessions.values()].reverse()) await end(session);
      };
      await within(all()).catch(() => {});
    },
  };
};
`;
}
