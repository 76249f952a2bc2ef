// The used parts of OpenClaw's plugin interface (2026.7.35, 2026.9.6); its own types differ between releases.

export type HostConfig = Readonly<Record<string, unknown>>;

export interface HostApi {
  readonly config: HostConfig;
  /** `plugins.entries.memslot.config`, checked by the host against the manifest. */
  readonly pluginConfig?: Readonly<Record<string, unknown>> | undefined;
  readonly logger: HostLogger;
  readonly runtime: {
    readonly version?: string | undefined;
    readonly config?: { current?: () => HostConfig } | undefined;
    readonly agent: { resolveAgentWorkspaceDir(config: HostConfig, agentId: string): string };
    readonly state: { resolveStateDir(): string };
  };
  registerMemoryCapability(capability: object): void;
  registerTool(create: (context: HostToolContext) => HostTool | null, options: { names: string[] }): void;
  registerCli(
    register: (context: { program: HostCommand; config: HostConfig }) => void,
    options: { descriptors: { name: string; description: string; hasSubcommands: boolean }[] },
  ): void;
}

interface HostLogger {
  debug?(line: string): void;
  info(line: string): void;
  warn(line: string): void;
}

/** Who calls a tool. The host fills it in, never the model. */
export interface HostToolContext {
  readonly config?: HostConfig | undefined;
  readonly runtimeConfig?: HostConfig | undefined;
  readonly getRuntimeConfig?: (() => HostConfig | undefined) | undefined;
  readonly agentId?: string | undefined;
  readonly sessionKey?: string | undefined;
}

export interface HostTool {
  readonly name: string;
  readonly label: string;
  readonly description: string;
  readonly parameters: object;
  execute(
    callId: string,
    input: unknown,
    signal?: AbortSignal,
  ): Promise<{ content: { type: "text"; text: string }[]; details: object }>;
}

/** A command of the host's command line (commander's). */
export interface HostCommand {
  command(words: string): HostCommand;
  description(text: string): HostCommand;
  argument(words: string, description: string): HostCommand;
  option(flags: string, description: string): HostCommand;
  action(run: (...given: never[]) => Promise<void>): HostCommand;
}
