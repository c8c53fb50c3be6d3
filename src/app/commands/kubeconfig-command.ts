/**
 * The command `braid kubeconfig NAME`: prints a kubeconfig for a member that dials out, which is reached through its
 * primary, with the person's own credentials there. It reads the fleet's clusters alone.
 *
 * Not here: the kubeconfig itself (domain/commands/kubeconfig.ts).
 */

import type { KubeConfig } from "@kubernetes/client-node"
import { Effect } from "effect"
import { stringify } from "yaml"
import { makeKubeApi } from "../../adapters/kubernetes/kube-api-http.ts"
import { memberKubeconfig, memberThrough, type PrimaryWay } from "../../domain/commands/kubeconfig.ts"
import { asObject, asObjects, at, parseObject } from "../../domain/json.ts"
import { chosenConfig, type Unanswered } from "./overview/ask-cluster.ts"
import { readClusters } from "./overview/clusters-command.ts"
import { tellUnanswered } from "./overview/tell.ts"
import type { KubeConfigChoice } from "./user-kube-config.ts"

/** A person's way to the primary, as the kubeconfig has it. Paths of files in it are absolute. */
const wayOf = (config: KubeConfig): PrimaryWay => {
  const exported = parseObject(config.exportConfig())
  const context = config.getContextObject(config.getCurrentContext())
  const named = (list: string, name: string | undefined) =>
    asObjects(exported[list]).find((entry) => entry["name"] === name)
  return {
    server: config.getCurrentCluster()?.server ?? "",
    cluster: asObject(at(named("clusters", context?.cluster), "cluster")),
    user: asObject(at(named("users", context?.user), "user")),
    namespace: context?.namespace
  }
}

const makeKubeconfig = (name: string, choice: KubeConfigChoice): Effect.Effect<string, Unanswered> =>
  Effect.gen(function* () {
    const config = yield* chosenConfig(choice)
    const clusters = yield* readClusters(yield* makeKubeApi(config, config.getCurrentContext()))
    const member = yield* Effect.fromResult(memberThrough(clusters, name))
    return stringify(memberKubeconfig(member, wayOf(config)), { lineWidth: 0 }).trimEnd()
  }).pipe(Effect.scoped)

export const runKubeconfig = ({
  name,
  ...choice
}: KubeConfigChoice & { readonly name: string }): Effect.Effect<number> =>
  makeKubeconfig(name, choice).pipe(
    Effect.map((text) => {
      console.log(text)
      return 0
    }),
    Effect.catch((unanswered) =>
      Effect.sync(() => {
        tellUnanswered(unanswered)
        return 1
      })
    )
  )
