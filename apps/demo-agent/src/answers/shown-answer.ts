import { isNoReply } from "@memslot/agent-kit";

/** Between what a model says, piece by piece, and who reads it: the sign that it has nothing to say is not shown. */
export interface ShownAnswer {
  onText(delta: string): void;
  /** After each message of the model. Gives its text as it is shown. */
  end(text: string): string;
}

/** What the sentinel may begin with, with the signs and the key that models put around it. */
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
