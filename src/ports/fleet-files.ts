/**
 * The port by which a primary reads the configuration of its fleet again while it runs. Whether a configuration is
 * taken up is decided in src/app/fleet.
 */

import type { Effect } from "effect"
import type { FleetDocuments } from "../domain/fleet/parse-configuration.ts"

export interface FleetFiles {
  /**
   * Completes as soon as the files differ from `known`, and at once without it. Files that change together are told
   * together.
   */
  readonly after: (known: FleetDocuments | undefined) => Effect.Effect<FleetDocuments>
}
