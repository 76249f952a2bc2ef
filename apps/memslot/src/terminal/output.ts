import { pathToFileURL } from "node:url";
import { styleText } from "node:util";
import { visibleJson, visibleMessage } from "@memslot/core";
import { type ColorChoice, hasColors, linksWithLines, takesLinks } from "./ansi/terminal-kind.ts";

type Style = Parameters<typeof styleText>[0];

/** Where a command writes: answers to stdout, all else to stderr. */
export interface Output {
  /** True when people read stdout, not a pipe. */
  readonly isTerminal: boolean;
  readonly stdout: NodeJS.WriteStream;
  readonly stderr: NodeJS.WriteStream;
  /** True when stderr can redraw a line. */
  readonly canRedraw: boolean;
  /** Writes an answer and a line break. */
  print(text: string): void;
  /** Writes an answer as it is. */
  write(text: string): void;
  printJson(value: unknown): void;
  /** Writes one line to stderr; the same line only once. */
  notice(line: string): void;
  /** Styled for stdout, where it is a terminal that shows styles; as it is elsewhere (`NO_COLOR`, a pipe). */
  style(style: Style, text: string): string;
  /** A name that opens a file when it is clicked, where the terminal has such links; as it is elsewhere. */
  link(text: string, file: FileLink): string;
  /** `--color`: goes before the environment. */
  setColor(choice: ColorChoice): void;
  /** Resolves once both streams have been handed over to the system. */
  flush(): Promise<void>;
}

/** Where a link leads. */
interface FileLink {
  absolutePath: string;
  /** 1-based. */
  line?: number | undefined;
}

export function createOutput(stdout: NodeJS.WriteStream, stderr: NodeJS.WriteStream, env: NodeJS.ProcessEnv): Output {
  const said = new Set<string>();
  let stdoutFailed = false;
  // A reader that has seen enough (`| head`) closes the pipe: no reason to complain.
  stdout.on("error", (error: NodeJS.ErrnoException) => {
    if (stdoutFailed) return;
    stdoutFailed = true;
    if (error.code === "EPIPE") return;
    process.exitCode = 1;
    stderr.write(`memslot: the answer could not be written: ${error.message}\n`);
  });
  stderr.on("error", () => {
    // There is no place left to say so.
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
      if (said.has(line)) return;
      said.add(line);
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

/** What `style` has put there is meant for the terminal; nothing else is. */
function besideStyles(text: string): string {
  // oxlint-disable-next-line no-control-regex -- the beginning of a style is what is looked for
  const parts = text.split(/(\u001B\[[\d;]*m)/u);
  return parts.map((part, index) => (index % 2 === 1 ? part : visibleMessage(part))).join("");
}

function drained(stream: NodeJS.WriteStream): Promise<void> {
  return new Promise((resolve) => {
    if (stream.destroyed || stream.writableEnded) resolve();
    else stream.write("", () => resolve());
  });
}
