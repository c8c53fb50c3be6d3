/**
 * How `braid status`, `sessions` and `logs` reach a person's cluster, and what its errors mean to that person.
 *
 * Not here: what is asked.
 */

import type { KubeConfig } from "@kubernetes/client-node"
import { Effect, type Scope } from "effect"
import { makeKubeApi } from "../../../adapters/kubernetes/kube-api-http.ts"
import type { KubeApi, KubeError } from "../../../ports/kube-api.ts"
import { type KubeConfigChoice, userKubeConfig } from "../user-kube-config.ts"

/** Why there is nothing to show, and what to do. Both are whole sentences. */
export interface Unanswered {
  readonly message: string
  readonly fix: string
}

/** The kubeconfig of a person, with the chosen context as its current one. */
export const chosenConfig = (choice: KubeConfigChoice): Effect.Effect<KubeConfig, Unanswered> =>
  userKubeConfig(choice).pipe(
    Effect.mapError(({ message }) => ({
      message,
      fix: "Give one with --kubeconfig or KUBECONFIG, and choose with --context."
    }))
  )

/** The cluster that a person has chosen. */
export const chosenCluster = (choice: KubeConfigChoice): Effect.Effect<KubeApi, Unanswered, Scope.Scope> =>
  Effect.flatMap(chosenConfig(choice), (config) => makeKubeApi(config, config.getCurrentContext()))

/** An error of the API server, for a person. `act` and `object`: continue "You may not". */
export const unanswered = (error: KubeError, object: string, act: "read" | "stop" = "read"): Unanswered => {
  switch (error.reason) {
    case "Unreachable":
      return { message: `The cluster does not answer: ${error.detail}.`, fix: "braid doctor says more." }
    case "Unauthorized":
      return { message: "The cluster refuses the kubeconfig's credentials.", fix: "Log in again." }
    case "Forbidden":
      return {
        message: `You may not ${act} ${object}: ${error.detail}.`,
        fix: "Ask for ClusterRole mirrord-operator-user, or use another context: --context."
      }
    case "NotFound":
      return {
        message: `The cluster does not serve ${object}.`,
        fix:
          "Choose the cluster with the operator, the primary of a fleet: --context. braid doctor says whether the " +
          "operator is well."
      }
    default:
      return error.code === 503
        ? { message: "The operator cannot be reached through the API server.", fix: "braid doctor says more." }
        : { message: `The cluster answered with an error: ${error.detail}.`, fix: "braid doctor says more." }
  }
}
