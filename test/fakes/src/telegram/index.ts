import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

/** Chats with users have the user's id, groups a negative one. */
interface TelegramMessage {
  chatId: number;
  userId: number;
  text: string;
}

export interface FakeTelegram {
  /** The root of the Bot API. */
  url: string;
  /** What the bot wrote, in the order of its messages; an edited message counts once more. */
  sent: { chatId: number; text: string }[];
  /** A user writes to the bot, or in a group where the bot is. */
  write(message: TelegramMessage): void;
  close(): Promise<void>;
}

const bot = { id: 99, is_bot: true, first_name: "Bot", username: "scripted_bot", can_read_all_group_messages: true };

/** Telegram's Bot API on this machine, with one bot that polls. */
export async function startFakeTelegram(): Promise<FakeTelegram> {
  const updates: { update_id: number; message: object }[] = [];
  const sent: FakeTelegram["sent"] = [];
  const waiting = new Set<() => void>();
  let messageId = 0;

  const chatOf = (id: number): object =>
    id < 0 ? { id, type: "supergroup", title: "Group" } : { id, type: "private", first_name: `User ${id}` };
  const messageIn = (chatId: number, from: object, text: string): object => ({
    message_id: ++messageId,
    date: Math.floor(Date.now() / 1000),
    chat: chatOf(chatId),
    from,
    text,
  });
  const answers: Record<string, (given: Record<string, unknown>) => unknown> = {
    getMe: () => bot,
    getChat: ({ chat_id }) => chatOf(Number(chat_id)),
    getChatMember: () => ({ status: "member", user: bot }),
    sendMessage: written,
    editMessageText: written,
    async getUpdates({ offset, timeout }) {
      const fresh = (): object[] => updates.filter(({ update_id }) => update_id >= (Number(offset) || 0));
      if (fresh().length > 0 || !(Number(timeout) > 0)) return fresh();
      await new Promise<void>((resolve) => {
        const timer = setTimeout(wake, Number(timeout) * 1000);
        function wake(): void {
          clearTimeout(timer);
          waiting.delete(wake);
          resolve();
        }
        waiting.add(wake);
      });
      return fresh();
    },
  };
  function written({ chat_id, text }: Record<string, unknown>): object {
    const [chatId, said] = [Number(chat_id), String(text)];
    sent.push({ chatId, text: said });
    return messageIn(chatId, bot, said);
  }

  const server = createServer((request, response) => {
    const answer = async (): Promise<void> => {
      let body = "";
      for await (const chunk of request.setEncoding("utf8")) body += String(chunk);
      const { pathname, searchParams } = new URL(request.url ?? "", "http://localhost");
      const method = pathname.split("/").at(-1) ?? "";
      const isJson = body.startsWith("{");
      const fields = isJson ? {} : Object.fromEntries(new URLSearchParams(body));
      const given = { ...Object.fromEntries(searchParams), ...(isJson ? (JSON.parse(body) as object) : fields) };
      const result = (await answers[method]?.(given)) ?? true;
      response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify({ ok: true, result }));
    };
    // A client that leaves in the middle breaks what is being read or written here.
    void answer().catch(() => response.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    sent,
    write({ chatId, userId, text }) {
      const from = { id: userId, is_bot: false, first_name: `User ${userId}` };
      updates.push({ update_id: updates.length + 1, message: messageIn(chatId, from, text) });
      for (const wake of waiting) wake();
    },
    async close() {
      for (const wake of waiting) wake();
      await new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      });
    },
  };
}
