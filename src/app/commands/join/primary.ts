/**
 * The primary of a fleet as `braid join` and `braid leave` need it: its configuration, the objects that hold it, and
 * what is known of its clusters' identities.
 *
 * Not here: the decisions (domain/commands/join).
 */

import { Effect, type Scope } from "effect"
import type { Finding } from "../../../domain/commands/doctor/finding.ts"
import type { FleetConfiguration } from "../../../domain/fleet/configuration.ts"
import type { ProvidedCluster } from "../../../domain/fleet/provided-clusters.ts"
import { at, asString } from "../../../domain/json.ts"
import type { KubeApi, KubeError, KubeObject } from "../../../ports/kube-api.ts"
import { readPins } from "../../fleet/identity-pins.ts"
import { clusterUid } from "../../kernel/cluster-uid.ts"
import { orIf } from "../../kernel/or-if.ts"
import { foundClusters } from "../doctor/found-clusters.ts"
import { type FleetSources, type Installation, installationByKubeConfig } from "../doctor/installation.ts"
import type { Unanswered } from "../overview/ask-cluster.ts"
import type { KubeConfigChoice } from "../user-kube-config.ts"

export interface Primary {
  readonly api: KubeApi
  readonly namespace: string
  readonly fleet: FleetConfiguration
  readonly sources: FleetSources
  /** Clusters that the primary finds by itself. */
  readonly provided: ReadonlyArray<ProvidedCluster>
  /** UID of its cluster; `undefined` if it may not be read. */
  readonly uid: string | undefined
  /** UIDs of its clusters, by their slugs. */
  readonly pins: ReadonlyMap<string, string>
  readonly installation: Installation
}

/** The error of a command that looked and has not begun to write. `message`: sentences, each with what to do. */
export const refused = (message: string): Effect.Effect<never, Unanswered> =>
  Effect.fail({ message, fix: "Nothing was written. Do what the sentence says, and run it again." })

/** The error of an API server while something was done, for a person. `doing`: a clause such as "reading Secret a". */
export const failedDoing = (doing: string, { detail, reason }: KubeError): Unanswered => ({
  message: `${doing.charAt(0).toUpperCase()}${doing.slice(1)} failed: ${detail}.`,
  fix:
    reason === "Forbidden" || reason === "Unauthorized"
      ? "Use a kubeconfig and a context that may do it: those of an administrator of that cluster."
      : "Run it again; braid doctor says more about the clusters."
})

/** The object; `undefined` if it does not exist. */
export const orNothing = orIf("NotFound", Effect.undefined)

/** The Helm release that an object belongs to. */
export const releaseOf = (object: KubeObject | undefined): string | undefined =>
  asString(at(object, "metadata", "annotations", "meta.helm.sh/release-name"))

/** The findings that keep an installation from being used, as one problem. */
const problemOf = (findings: ReadonlyArray<Finding>): Unanswered | undefined => {
  const bad = findings.filter(({ status }) => status === "failed" || status === "warning")
  const [first] = bad
  return first === undefined
    ? undefined
    : {
        message: bad.map(({ message }) => message).join(" "),
        fix: first.fix ?? "braid doctor says more."
      }
}

const noPrimary: Unanswered = {
  message: "The operator of this context is no primary, or its configuration cannot be read.",
  fix:
    "Choose the primary with --context and its operator's namespace with --namespace; operator.multiCluster.enabled " +
    "makes an operator a primary."
}

/** The primary that a person's kubeconfig leads to. */
export const findPrimary = Effect.fnUntraced(function* (
  choice: KubeConfigChoice,
  namespace: string
): Effect.fn.Return<Primary, Unanswered, Scope.Scope> {
  const installation = yield* installationByKubeConfig(choice, namespace).pipe(
    Effect.mapError(({ findings }) => problemOf(findings) ?? noPrimary)
  )
  const { findings, fleet, own, sources } = installation
  if (fleet === undefined || sources === undefined) return yield* Effect.fail(problemOf(findings) ?? noPrimary)
  const asked = Effect.all({
    uid: clusterUid(own),
    pins: Effect.map(readPins({ api: own, namespace }), ({ pins }) => pins),
    provided: foundClusters(installation)
  })
  const known = yield* Effect.mapError(asked, (error) => failedDoing("reading what the primary knows", error))
  return { api: own, namespace, fleet, sources, installation, ...known }
})
