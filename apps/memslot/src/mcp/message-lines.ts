import { Transform } from "node:stream";

const LINE_FEED = 10;

/**
 * Passes on whole lines and leaves out those of more than `maxBytes`, which are never held in memory: one message that
 * is too long does not end the conversation.
 */
export function messageLines(maxBytes: number, onTooLong: () => void): Transform {
  let parts: Buffer[] = [];
  let length = 0;
  let leavingOut = false;
  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      let start = 0;
      for (;;) {
        const end = chunk.indexOf(LINE_FEED, start);
        const part = chunk.subarray(start, end < 0 ? chunk.length : end + 1);
        length += part.length;
        if (length > maxBytes && !leavingOut) {
          leavingOut = true;
          parts = [];
          onTooLong();
        }
        if (!leavingOut) parts.push(part);
        if (end < 0) break;
        if (!leavingOut) this.push(Buffer.concat(parts));
        parts = [];
        length = 0;
        leavingOut = false;
        start = end + 1;
      }
      done();
    },
  });
}
