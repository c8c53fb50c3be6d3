import { Effect, Equal, Latch } from "effect"
import type { FleetDocuments } from "../../src/domain/fleet/parse-configuration.ts"
import type { FleetFiles } from "../../src/ports/fleet-files.ts"

/** Files of a management-only primary with the first cluster as default. */
export const documentsOf = (clusters: ReadonlyArray<string>, more: object = {}): FleetDocuments => ({
  multiCluster: { _tag: "Parsed", value: { defaultCluster: clusters[0] ?? "", ...more } },
  clusters: {
    _tag: "Parsed",
    value: { clusters: clusters.map((name) => ({ name, server: `https://${name}`, authType: "bearerToken" })) }
  }
})

/** Files that a test changes. */
export class ChangingFiles implements FleetFiles {
  readonly #changed = Latch.makeUnsafe(false)
  #documents: FleetDocuments

  constructor(documents: FleetDocuments) {
    this.#documents = documents
  }

  write(documents: FleetDocuments): void {
    this.#documents = documents
    this.#changed.openUnsafe()
  }

  readonly after: FleetFiles["after"] = (known) =>
    Effect.suspend(() => {
      if (!Equal.equals(known, this.#documents)) return Effect.succeed(this.#documents)
      this.#changed.closeUnsafe()
      return Effect.andThen(this.#changed.await, () => this.after(known))
    })
}
