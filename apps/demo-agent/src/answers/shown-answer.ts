import { isNoReply } from "@memslot/agent-kit";

/** Filters the sentinel out of streamed model output. */
export interface ShownAnswer {
  onText(delta: string): void;
  /** After each message of the model. Returns its displayed text. */
  end(text: string): string;
}

/** Possible beginnings of the sentinel with punctuation around it. */
const mayBecome =
  /^(?:[^\p{L}\p{N}]*(?:json\W*)?(?:"\w*"?\s*:?\s*"?)?(?:N(?:O(?:_(?:R(?:E(?:P(?:LY?)?)?)?)?)?)?)?[^\p{L}\p{N}]*)$/iu;
const maxHeld = 60;
const nothing = "(The model had nothing to say to this.)";

export function createShownAnswer(show: (delta: string) => void): ShownAnswer {
  let held = "";
  let isOpen = false;
  const release = (): void => {
    if (held !== "") show(held);
    held = "";
  };
  return {
    onText(delta) {
      held += delta;
      isOpen ||= held.length > maxHeld || !mayBecome.test(held);
      if (isOpen) release();
    },
    end(text) {
      const isSilent = !isOpen && isNoReply(text);
      if (isSilent) held = nothing;
      release();
      isOpen = false;
      return isSilent ? nothing : text;
    },
  };
}
