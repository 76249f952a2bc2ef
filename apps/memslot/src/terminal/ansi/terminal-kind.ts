/** When colours are shown: `--color`. */
export const colorChoices = ["auto", "always", "never"] as const;
export type ColorChoice = (typeof colorChoices)[number];

type Stream = Pick<NodeJS.WriteStream, "isTTY">;

/**
 * Whether a stream gets colours. The order is that of Node: the choice, `FORCE_COLOR`, `NO_COLOR`, then whether it is a
 * terminal that has them.
 */
export function hasColors(stream: Stream, env: NodeJS.ProcessEnv, choice: ColorChoice): boolean {
  if (choice !== "auto") return choice === "always";
  const forced = env["FORCE_COLOR"];
  if (forced !== undefined) return forced !== "0" && forced !== "false";
  if (env["NO_COLOR"]) return false;
  return stream.isTTY === true && env["TERM"] !== "dumb";
}

/**
 * Whether a stream takes hyperlinks (OSC 8) to files: terminals that are known to. `FORCE_HYPERLINK` says it of any, and
 * `FORCE_HYPERLINK=0` of none. VS Code is left out, as it opens `path:line` by itself, and of a link only the file.
 */
export function takesLinks(stream: Stream, env: NodeJS.ProcessEnv): boolean {
  const forced = env["FORCE_HYPERLINK"];
  if (forced !== undefined) return forced !== "0" && forced !== "false";
  if (stream.isTTY !== true || env["TMUX"] || env["STY"]) return false;
  // VTE is what GNOME Terminal and many others are made of; before 0.50 it crashed on links.
  if (Number(env["VTE_VERSION"] ?? 0) > 5000) return true;
  if (env["WT_SESSION"] || env["KONSOLE_VERSION"]) return true;
  const [program = "", term = ""] = [env["TERM_PROGRAM"], env["TERM"]];
  return (
    ["iTerm.app", "WezTerm", "ghostty"].includes(program) || /^(?:xterm-kitty|xterm-ghostty|alacritty)$/.test(term)
  );
}

/** Whether a link of this terminal may name a line behind the file. Others take it for a part of the name. */
export function linksWithLines(env: NodeJS.ProcessEnv): boolean {
  return env["TERM"] === "xterm-kitty" || env["TERM_PROGRAM"] === "iTerm.app";
}
