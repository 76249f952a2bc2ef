import { Writable } from "node:stream";

/** Stdout while it belongs to the protocol. */
export interface ProtocolStdout {
  /** What is written here reaches stdout, in order. */
  readonly frames: Writable;
  /** Lets others write to stdout again. */
  giveBack(): void;
}

/**
 * Keeps stdout for protocol messages: whatever else the process writes there meanwhile, a library's `console.log`
 * included, goes to stderr, where it harms nobody.
 */
export function takeStdout(stdout: NodeJS.WriteStream, stderr: NodeJS.WriteStream): ProtocolStdout {
  const write = stdout.write;
  const frames = new Writable({
    decodeStrings: false,
    write: (chunk: string | Uint8Array, _encoding, done) => void write.call(stdout, chunk, "utf8", done),
  });
  stdout.write = stderr.write.bind(stderr);
  return {
    frames,
    giveBack() {
      stdout.write = write;
    },
  };
}
