import { MemoryError } from "@memslot/core";
import type { StateAsked, StoredFile } from "@memslot/indexing";
import type { LancePlace } from "../place/place.ts";
import type { Build, Builds } from "./builds.ts";
import type { Written } from "./files.ts";
import { type Listing, Listings } from "./listing.ts";
import { embeddedIn, Spaces } from "./spaces.ts";
import { filesTable, type Tables } from "./tables.ts";

/** What is known of the index at a place, and what the caller was told about it. */
export class Known {
  readonly builds: Builds;
  readonly spaces: Spaces;
  /** Other hosts write to it, too. */
  readonly isShared: boolean;
  readonly #listings: Listings;
  readonly #location: string;
  /** Which index the caller has been told of. Another one in its place holds other files. */
  #told: string | undefined;

  constructor(tables: Tables, builds: Builds, { kind, location }: Pick<LancePlace, "kind" | "location">) {
    this.builds = builds;
    this.isShared = kind !== "folder";
    this.spaces = new Spaces(tables, this.isShared);
    this.#listings = new Listings(this.isShared);
    this.#location = location;
  }

  /** The build that answers, for a caller who is told what is in it. */
  async toRead({ at }: StateAsked = {}): Promise<Build | undefined> {
    const { builds } = this;
    const active = builds.isTold(at) ? await builds.latest() : (await builds.find()).active;
    this.#tell(active);
    return active;
  }

  /** The build that answers; where there is none it is made, if it may be. Within a write. */
  async toWrite(mayMake: boolean): Promise<Build | undefined> {
    const { active, next } = await this.builds.tidied();
    this.expectTold(active);
    return active ?? (mayMake ? await this.builds.makeFirst(next) : undefined);
  }

  /** Nobody is given less than there was without a word. */
  expectTold(build: Build | undefined): void {
    const index = build?.facts.index ?? "none";
    if (this.#told !== undefined && this.#told !== "none" && this.#told !== index)
      throw new MemoryError(
        "UNAVAILABLE",
        `the index ${this.#location} was deleted or begun anew; bring it up to date with \`memslot memory index\``,
      );
  }

  /** What the build holds. */
  listing({ number, table }: Build): Promise<Listing> {
    return this.#listings.of(filesTable(number), table);
  }

  async files(build: Build | undefined, { at }: StateAsked = {}): Promise<readonly StoredFile[]> {
    if (!build) return [];
    // On this machine nobody else embeds what lies here.
    if (!this.isShared)
      return Array.from((await this.listing(build)).files.values(), ({ chunks: _chunks, ...file }) => file);
    const { builds, spaces } = this;
    const known = spaces.known(spaces.ids(builds.spaces()), !builds.isTold(at));
    const [{ files }, inSpaces] = await Promise.all([this.listing(build), known]);
    return embeddedIn(files.values(), inSpaces);
  }

  wrote(build: Build, { version, changes }: Written): void {
    this.#listings.follow(filesTable(build.number), version, changes);
    // Not before: what another host has made at the same moment may have taken its place.
    if (build.facts.next === undefined && (this.#told === undefined || this.#told === "none")) this.#tell(build);
  }

  /** Changes with all that is there, which the caller is told. This one look serves what he asks at this state. */
  async revision(): Promise<string> {
    const { builds, spaces } = this;
    const ids = spaces.ids(builds.spaces());
    let [build, versions] = await Promise.all([builds.look(), spaces.versions(ids)]);
    // Where it took reading the names to find the build there may be more of them.
    const found = spaces.ids(builds.spaces());
    if (found.join() !== ids.join()) versions = await spaces.versions(found);
    this.#tell(build);
    const state = build
      ? [build.facts.index, build.number, await build.table.version(), ...versions].join(".")
      : "none";
    builds.tell(state);
    if (build && this.isShared) this.#fetch(build, found);
    return state;
  }

  /** Begins to read what the search wants that is about to be made. */
  #fetch(build: Build, ids: readonly string[]): void {
    // Whoever asks for it meets the same failure.
    this.listing(build).catch(() => undefined);
    this.spaces.fetch(ids);
  }

  /** Deletes vectors of texts that no chunk has; without `all`, where they are many. Within a write. */
  async dropUnused(all: boolean): Promise<void> {
    const { active, next } = await this.builds.tidied();
    const used: ReadonlyMap<string, unknown>[] = [];
    for (const build of [active, next]) if (build) used.push((await this.listing(build)).byHash());
    await this.spaces.dropUnused(this.spaces.ids(this.builds.spaces()), used, all);
  }

  forget(): void {
    this.builds.forget();
    this.#listings.forget();
    this.spaces.forget();
  }

  #tell(build: Build | undefined): void {
    this.#told = build?.facts.index ?? "none";
  }
}
