/** What has become of some lines of a file: enough to find the place again, and to take the change back to the byte. */
export interface LineChange {
  /** The first line that differs, counted from 1. */
  startLine: number;
  /** Bytes before the lines. */
  offset: number;
  /** The lines with their line ends, as they were and as they are. */
  before: string;
  after: string;
  /** The line before them and the one behind them, empty where there is none. */
  above: string;
  below: string;
}
