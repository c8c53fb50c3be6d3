/**
 * Adds the clusters that the operator finds by itself to an installation, so that they are examined as the configured
 * ones are.
 *
 * Not here: the clusters of the installation's files (installation.ts).
 */

import { Effect, Result } from "effect"
import { failed } from "../../../domain/doctor/finding.ts"
import { withProvided } from "../../../domain/fleet/provided-clusters.ts"
import { secrets } from "../../../domain/resources/core-kinds.ts"
import { kubeconfigSelection, providedBy } from "../../fleet/kubeconfig-secrets.ts"
import { sha256Hex } from "../../kernel/sha256-hex.ts"
import type { Installation } from "./installation.ts"

export const withFoundClusters = (installation: Installation): Effect.Effect<Installation> =>
  Effect.gen(function* () {
    const { findings, findsClusters, fleet, namespace, own } = installation
    if (fleet === undefined || !findsClusters) return installation
    const list = yield* Effect.result(own.list(secrets, kubeconfigSelection(namespace)))
    if (Result.isFailure(list)) {
      const problem = `The Secrets with kubeconfigs in namespace ${namespace} cannot be read: ${list.failure.detail}.`
      const fix = "Use a kubeconfig that may list them, or run this as the operator: helm test."
      return { ...installation, findings: [...findings, failed("configuration", problem, fix)] }
    }
    const { configuration, refused } = withProvided(fleet, list.success.items.map(providedBy), sha256Hex)
    const told = refused.map((problem) => failed("configuration", problem, "Rename the Secret, or the other cluster."))
    return { ...installation, fleet: configuration, findings: [...findings, ...told] }
  })
