/** The part of cli-progress that this package uses. */
declare module "cli-progress" {
  export interface SingleBarOptions {
    format: string;
    stream: NodeJS.WritableStream;
    barsize: number;
    hideCursor: boolean;
    clearOnComplete: boolean;
    etaBuffer: number;
  }
  export class SingleBar {
    constructor(options: SingleBarOptions);
    start(total: number, startValue: number): void;
    setTotal(total: number): void;
    update(value: number): void;
    stop(): void;
  }
  const library: { SingleBar: typeof SingleBar };
  export default library;
}
