/** Memory that threads share. */
export interface SharedMemory {
  readonly buffer: SharedArrayBuffer;
  /** By pages of 65,536 bytes. */
  grow(pages: number): number;
}

interface Host {
  Memory: new (size: { initial: number; maximum: number; shared: true }) => SharedMemory;
  Module: new (bytes: Uint8Array) => object;
  Instance: new (module: object, imports: { env: { memory: SharedMemory } }) => { exports: object };
}

/** WebAssembly, of which the types of Node say nothing. Throws where the host has none. */
export function webAssembly(): Host {
  const { WebAssembly: host } = globalThis as { WebAssembly?: Host };
  if (host === undefined) throw new Error("this Node has no WebAssembly");
  return host;
}
