export const colorChoices = ["auto", "always", "never"] as const;
export type ColorChoice = (typeof colorChoices)[number];

type Stream = Pick<NodeJS.WriteStream, "isTTY">;

/** Whether a stream gets colours: the option, `FORCE_COLOR`, `NO_COLOR`, then the terminal. */
export function hasColors(stream: Stream, env: NodeJS.ProcessEnv, choice: ColorChoice): boolean {
  if (choice !== "auto") return choice === "always";
  const forced = env["FORCE_COLOR"];
  if (forced !== undefined) return forced !== "0" && forced !== "false";
  if (env["NO_COLOR"]) return false;
  return stream.isTTY === true && env["TERM"] !== "dumb";
}

/** Whether a stream supports hyperlinks (OSC 8). VS Code is excluded: it opens `path:line` by itself. */
export function takesLinks(stream: Stream, env: NodeJS.ProcessEnv): boolean {
  const forced = env["FORCE_HYPERLINK"];
  if (forced !== undefined) return forced !== "0" && forced !== "false";
  if (stream.isTTY !== true || env["TMUX"] || env["STY"]) return false;
  // GNOME Terminal and others use VTE, which crashed on links before 0.50.
  if (Number(env["VTE_VERSION"] ?? 0) > 5000) return true;
  if (env["WT_SESSION"] || env["KONSOLE_VERSION"]) return true;
  const [program = "", term = ""] = [env["TERM_PROGRAM"], env["TERM"]];
  return (
    ["iTerm.app", "WezTerm", "ghostty"].includes(program) || /^(?:xterm-kitty|xterm-ghostty|alacritty)$/.test(term)
  );
}

/** Whether links of this terminal support line numbers. Others read them as part of the name. */
export function linksWithLines(env: NodeJS.ProcessEnv): boolean {
  return env["TERM"] === "xterm-kitty" || env["TERM_PROGRAM"] === "iTerm.app";
}
