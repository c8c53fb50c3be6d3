/**
 * The kubeconfig with which a person reaches a member that dials out: the primary's API server, the member's path
 * there, and the person's own credentials at the primary.
 *
 * Not here: finding the person's kubeconfig and the member (app/commands/kubeconfig-command.ts).
 */

import * as Result from "effect/Result"
import { quoted } from "../clean-text.ts"
import { authWords } from "../fleet/credentials/cluster-auth.ts"
import type { JsonObject } from "../json.ts"
import { proxyRoot } from "../outbound/proxied-request.ts"
import type { MirrordCluster } from "../resources/mirrord-cluster.ts"

/** Why there is no kubeconfig. Both are sentences. */
export interface NoMemberKubeconfig {
  readonly message: string
  readonly fix: string
}

/** A person's way to the primary, in the fields of a kubeconfig. */
export interface PrimaryWay {
  /** URL of the API server. */
  readonly server: string
  readonly cluster: JsonObject
  readonly user: JsonObject
  readonly namespace: string | undefined
}

/** Looks whether a member is reached through the primary. `clusters`: those of the primary's fleet. */
export const memberThrough = (
  clusters: ReadonlyArray<Pick<MirrordCluster, "metadata" | "spec">>,
  name: string
): Result.Result<string, NoMemberKubeconfig> => {
  const found = clusters.find(({ metadata }) => metadata.name === name)
  if (found === undefined) {
    const names = clusters.map(({ metadata }) => metadata.name)
    const fleet = names.length === 0 ? "this cluster has no fleet" : `the fleet has ${names.map(quoted).join(", ")}`
    return Result.fail({
      message: `There is no cluster ${quoted(name)}: ${fleet}.`,
      fix: "Name one of the fleet, or choose its primary with --context."
    })
  }
  return found.spec.authType === authWords.Outbound
    ? Result.succeed(found.metadata.name)
    : Result.fail({
        message: `Cluster ${quoted(name)} does not dial out, so its primary does not pass requests of people on.`,
        fix: "Use a kubeconfig of the cluster itself."
      })
}

/** The kubeconfig, as a value for YAML. */
export const memberKubeconfig = (name: string, { cluster, namespace, server, user }: PrimaryWay): JsonObject => ({
  apiVersion: "v1",
  kind: "Config",
  clusters: [{ name, cluster: { ...cluster, server: `${server.replace(/\/$/u, "")}${proxyRoot(name)}` } }],
  users: [{ name, user }],
  contexts: [{ name, context: { cluster: name, user: name, ...(namespace === undefined ? {} : { namespace }) } }],
  "current-context": name
})
