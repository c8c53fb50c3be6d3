/**
 * The content of `braid version`: this program, and the operators of a cluster and of its fleet.
 *
 * Not here: asking for them.
 */

import { protocolVersion } from "../../protocol/version.ts"
import type { OperatorOverview } from "./operator-overview.ts"
import { textTable } from "./text-table.ts"

interface VersionOverview {
  readonly client: { readonly version: string; readonly protocolVersion: string }
  /** `undefined` if no operator could be asked. */
  readonly operator:
    | {
        readonly version: string
        readonly protocolVersion: string | undefined
        readonly clusters: ReadonlyArray<{ readonly name: string; readonly version: string | undefined }>
      }
    | undefined
}

/** `client` is the version of this program; `operator` is `undefined` if none could be asked. */
export const versionOverview = (
  client: string,
  operator: Pick<OperatorOverview, "version" | "protocolVersion" | "clusters"> | undefined
): VersionOverview => ({
  client: { version: client, protocolVersion },
  operator:
    operator === undefined
      ? undefined
      : {
          version: operator.version,
          protocolVersion: operator.protocolVersion,
          clusters: operator.clusters.map(({ name, version }) => ({ name, version }))
        }
})

/** The overview for a person. */
export const versionLines = ({ client, operator }: VersionOverview): ReadonlyArray<string> =>
  textTable([
    ["PROGRAM", "VERSION", "PROTOCOL"],
    ["braid", client.version, client.protocolVersion],
    ...(operator === undefined
      ? []
      : [
          ["operator", operator.version, operator.protocolVersion ?? "unknown"],
          ...operator.clusters.map(({ name, version = "unknown" }) => [`operator of ${name}`, version, ""])
        ])
  ])
