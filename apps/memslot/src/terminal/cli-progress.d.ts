/** The part of cli-progress that this package uses. */
declare module "cli-progress" {
  export interface SingleBarOptions {
    format: string;
    stream: NodeJS.WritableStream;
    barsize: number;
    hideCursor: boolean;
    clearOnComplete: boolean;
  }
  export class SingleBar {
    constructor(options: SingleBarOptions);
    start(total: number, startValue: number, payload: Readonly<Record<string, string>>): void;
    setTotal(total: number): void;
    update(value: number, payload: Readonly<Record<string, string>>): void;
    stop(): void;
  }
  const library: { SingleBar: typeof SingleBar };
  export default library;
}
