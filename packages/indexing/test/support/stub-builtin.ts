import { syncBuiltinESMExports } from "node:module";
import { onTestFinished } from "vitest";

/** Replaces functions of a module of Node in this process, until the returned function is called or the test has ended. */
export function stubBuiltin<Module extends object>(module: Module, stubs: Partial<Module>): () => void {
  const before = Object.fromEntries(Object.keys(stubs).map((name) => [name, module[name as keyof Module]]));
  function use(functions: object): void {
    Object.assign(module, functions);
    syncBuiltinESMExports();
  }
  use(stubs);
  const restore = (): void => use(before);
  onTestFinished(restore);
  return restore;
}
