import { describe, expect, expectTypeOf, test, onTestFinished, vi } from "vitest";
import {
  type Call,
  type CallOptions,
  type CallsOfManager,
  type CallsOfMemory,
  type IndexCalls,
  type Memory,
  type MemorySearchManager,
  createMemory,
  withFallback,
} from "@memslot/core";
import { passMemoryCalls } from "@memslot/core/host";
import { type CallRow, type CallRows, type MemoryCallName, indexCalls } from "../src/guard/call-table.ts";
import { optional, text } from "../src/guard/runtime-type-checks.ts";
import { createHandle } from "../src/open/shared-instances.ts";
import { fakeManager, guarded, hang, rejected, settings } from "./support/fakes.ts";

/** A call that memslot does not have. */
type Echo = Call<
  [options?: (CallOptions & { words?: string | undefined }) | undefined],
  [params: { words: string; signal: AbortSignal }],
  { words: string }
>;
interface MoreCalls extends IndexCalls {
  echo: Echo;
}
type EchoManager = MemorySearchManager & Pick<CallsOfManager<MoreCalls>, "echo">;
type EchoMemory = Memory & Pick<CallsOfMemory<MoreCalls>, "echo">;

const row: CallRow<Echo> = {
  deadline: "probeMs",
  read: ([{ words } = {}]) => [{ words: optional(text, "nothing")("words", words) }],
  answer: { fields: { words: text } },
};

/** Adds the call for one test: its row. Its type is above, its implementation the manager's. */
function addEcho(): void {
  Object.assign(indexCalls, { echo: row });
  onTestFinished(() => void Reflect.deleteProperty(indexCalls, "echo"));
}

type EchoCall = NonNullable<EchoManager["echo"]>;
const answers: EchoCall = async ({ words }) => ({ words });

/** A handle on a memory whose manager is a primary with a fallback backend, as an application gets it. */
function handleOn(echo: unknown): EchoMemory {
  const primary = { name: "tool", manager: fakeManager({ echo } as Partial<MemorySearchManager>) };
  const manager = withFallback(primary, { name: "spare", open: hang });
  const about = { agentId: "main", workspaceDir: "/notes", backend: "tool", settings: settings() };
  return createHandle(createMemory(manager, about), 1_000, async () => undefined) as EchoMemory;
}

describe("a call that is added", () => {
  test("has its types on both sides, and the compiler names its row where that lacks", () => {
    expectTypeOf<Parameters<EchoMemory["echo"]>>().toEqualTypeOf<Echo["given"]>();
    expectTypeOf<Awaited<ReturnType<EchoMemory["echo"]>>>().toEqualTypeOf<{ words: string } | undefined>();
    expectTypeOf<Parameters<EchoCall>>().toEqualTypeOf<Echo["handed"]>();
    expectTypeOf<undefined>().toExtend<EchoManager["echo"]>();
    expectTypeOf<CallRows & { echo: CallRow<Echo> }>().toExtend<CallRows<MoreCalls>>();
    expectTypeOf<CallRows>().not.toExtend<CallRows<MoreCalls>>();
    expectTypeOf<keyof IndexCalls>().toExtend<MemoryCallName>();
    expectTypeOf<Exclude<keyof Memory, MemoryCallName>>().toEqualTypeOf<
      "agentId" | "workspaceDir" | "ownerAllowFrom" | "status" | "close"
    >();
  });

  test("goes from a handle through guard and fallback to the manager, and its answer back", async () => {
    addEcho();
    const echo = vi.fn<EchoCall>(answers);
    const memory = handleOn(echo);
    expect(await memory.echo({ words: "hello" })).toEqual({ words: "hello" });
    expect(await memory.echo()).toEqual({ words: "nothing" });
    expect(echo.mock.calls.map(([{ words, signal }]) => [words, signal.aborted])).toEqual([
      ["hello", false],
      ["nothing", false],
    ]);
    const lazy = passMemoryCalls(async () => memory) as unknown as Pick<EchoMemory, "echo">;
    expect(await lazy.echo({ words: "late" })).toEqual({ words: "late" });
    await memory.close();
    expect(await rejected(memory.echo())).toMatchObject({ code: "CLOSED" });
  });

  test("is undefined of a manager that lacks it, which is refused where it is no function", async () => {
    addEcho();
    expect(await handleOn(undefined).echo()).toBeUndefined();
    expect(() => guarded({ echo: 5 } as Partial<MemorySearchManager>)).toThrow('"echo" must be a function, not 5');
  });
});
