import { pathToFileURL } from "node:url";
import { styleText } from "node:util";
import { visibleJson, visibleMessage } from "@memslot/core";
import { type ColorChoice, hasColors, linksWithLines, takesLinks } from "./ansi/terminal-kind.ts";

type Style = Parameters<typeof styleText>[0];

/** The output of a command: answers on stdout, everything else on stderr. */
export interface Output {
  readonly isTerminal: boolean;
  readonly stdout: NodeJS.WriteStream;
  readonly stderr: NodeJS.WriteStream;
  /** Whether stderr can redraw a line. */
  readonly canRedraw: boolean;
  print(text: string): void;
  /** Writes an answer unchanged. */
  write(text: string): void;
  printJson(value: unknown): void;
  /** Writes one line to stderr; the same line only once. */
  notice(line: string): void;
  /** Styled text if stdout shows styles, else the text (`NO_COLOR`, a pipe). */
  style(style: Style, text: string): string;
  /** A link to a file if the terminal supports links, else the text. */
  link(text: string, file: FileLink): string;
  /** Sets `--color`, which overrides the environment. */
  setColor(choice: ColorChoice): void;
  /** Resolves when both streams are flushed to the system. */
  flush(): Promise<void>;
}

interface FileLink {
  absolutePath: string;
  line?: number | undefined;
}

export function createOutput(stdout: NodeJS.WriteStream, stderr: NodeJS.WriteStream, env: NodeJS.ProcessEnv): Output {
  const noticed = new Set<string>();
  let stdoutFailed = false;
  // A reader such as `head` closes the pipe early, which is not an error.
  stdout.on("error", (error: NodeJS.ErrnoException) => {
    if (stdoutFailed) return;
    stdoutFailed = true;
    if (error.code === "EPIPE") return;
    process.exitCode = 1;
    stderr.write(`memslot: the answer could not be written: ${error.message}\n`);
  });
  stderr.on("error", () => {
    // There is nowhere to report it.
  });
  const write = (text: string): void => {
    if (!stdoutFailed) stdout.write(text);
  };
  let styled = hasColors(stdout, env, "auto");
  const links = takesLinks(stdout, env);
  return {
    isTerminal: stdout.isTTY === true,
    stdout,
    stderr,
    canRedraw: stderr.isTTY === true && env["TERM"] !== "dumb",
    write,
    print: (text) => write(`${styled ? besideStyles(text) : visibleMessage(text)}\n`),
    printJson: (value) => write(`${visibleJson(JSON.stringify(value, undefined, 2))}\n`),
    notice(line) {
      if (noticed.has(line)) return;
      noticed.add(line);
      stderr.write(`memslot: ${visibleMessage(line)}\n`);
    },
    style: (name, text) => (styled ? styleText(name, text, { validateStream: false }) : text),
    link(text, { absolutePath, line }) {
      if (!links) return text;
      const { href } = pathToFileURL(absolutePath);
      const place = line !== undefined && linksWithLines(env) ? `#${line}` : "";
      return `\u001B]8;;${href}${place}\u001B\\${text}\u001B]8;;\u001B\\`;
    },
    setColor(choice) {
      styled = hasColors(stdout, env, choice);
    },
    async flush() {
      await Promise.all([...(stdoutFailed ? [] : [drained(stdout)]), drained(stderr)]);
    },
  };
}

/** Keeps the escape sequences of `style` and makes all others visible. */
function besideStyles(text: string): string {
  // oxlint-disable-next-line no-control-regex -- splits at style sequences
  const parts = text.split(/(\u001B\[[\d;]*m)/u);
  return parts.map((part, index) => (index % 2 === 1 ? part : visibleMessage(part))).join("");
}

function drained(stream: NodeJS.WriteStream): Promise<void> {
  return new Promise((resolve) => {
    if (stream.destroyed || stream.writableEnded) resolve();
    else stream.write("", () => resolve());
  });
}

/** Makes invisible and control characters visible, so that a name cannot control the terminal. */
export const printable: (text: string) => string = visibleMessage;
