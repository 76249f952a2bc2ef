import { isNoReply } from "@memslot/agent-kit";

/** Possible beginnings of the sentinel with punctuation around it. */
const mayBecome =
  /^(?:[^\p{L}\p{N}]*(?:json\W*)?(?:"\w*"?\s*:?\s*"?)?(?:N(?:O(?:_(?:R(?:E(?:P(?:LY?)?)?)?)?)?)?)?[^\p{L}\p{N}]*)$/iu;
const maxHeld = 60;
const nothing = "(The model had nothing to say to this.)";

/** Filters the sentinel out of streamed model output. */
export class ShownAnswer {
  readonly #show: (delta: string) => void;
  #held = "";
  #isOpen = false;

  constructor(show: (delta: string) => void) {
    this.#show = show;
  }

  onText(delta: string): void {
    this.#held += delta;
    this.#isOpen ||= this.#held.length > maxHeld || !mayBecome.test(this.#held);
    if (this.#isOpen) this.#release();
  }

  /** After each message of the model. Returns its displayed text. */
  end(text: string): string {
    const isSilent = !this.#isOpen && isNoReply(text);
    if (isSilent) this.#held = nothing;
    this.#release();
    this.#isOpen = false;
    return isSilent ? nothing : text;
  }

  #release(): void {
    if (this.#held !== "") this.#show(this.#held);
    this.#held = "";
  }
}
