/**
 * Finds the kubeconfig of a person who runs a command, in the order of kubectl.
 *
 * Not here: the operator's own kubeconfig (app/operator/own-kube-config.ts).
 */

import { existsSync } from "node:fs"
import { homedir } from "node:os"
import { join } from "node:path"
import { KubeConfig } from "@kubernetes/client-node"
import { Data, Effect, Predicate } from "effect"
import { withProxies } from "../../adapters/kubernetes/proxies.ts"

/** No kubeconfig can be used; the message says what is wrong and never quotes the file. */
export class NoKubeConfig extends Data.TaggedError("NoKubeConfig")<{ readonly message: string }> {}

export interface KubeConfigChoice {
  /** Path of a kubeconfig; otherwise `KUBECONFIG`, `~/.kube/config`, or the pod's service account. */
  readonly kubeconfig: string | undefined
  /** Name of a context in it; otherwise its current context. */
  readonly context: string | undefined
}

/** The first line of an error: the YAML parser quotes the file in the lines below. */
const firstLine = (cause: unknown): string =>
  (Predicate.isError(cause) ? cause.message : String(cause)).split("\n")[0] ?? ""

const load = (config: KubeConfig, file: string | undefined): void => {
  const variable = process.env["KUBECONFIG"]
  const usual = join(homedir(), ".kube", "config")
  if (file !== undefined) config.loadFromFile(file)
  // KUBECONFIG may name several files, which only loadFromDefault puts together.
  else if (variable !== undefined && variable !== "") config.loadFromDefault()
  else if (existsSync(usual)) config.loadFromFile(usual)
  else if (process.env["KUBERNETES_SERVICE_HOST"] !== undefined) config.loadFromCluster()
  else throw new Error("neither --kubeconfig nor KUBECONFIG is given, and ~/.kube/config does not exist")
}

/** A person's kubeconfig, as kubectl would find it. */
export const userKubeConfig = Effect.fnUntraced(function* ({
  context,
  kubeconfig
}: KubeConfigChoice): Effect.fn.Return<KubeConfig, NoKubeConfig> {
  const config = new KubeConfig()
  yield* Effect.try({
    try: () => load(config, kubeconfig),
    catch: (cause) => new NoKubeConfig({ message: `No kubeconfig can be used: ${firstLine(cause)}.` })
  })
  const contexts = config.getContexts().map(({ name }) => name)
  if (context !== undefined) {
    if (!contexts.includes(context)) {
      return yield* new NoKubeConfig({
        message: `The kubeconfig has no context ${JSON.stringify(context)}; it has ${contexts.join(", ") || "none"}.`
      })
    }
    config.setCurrentContext(context)
  }
  if (config.getCurrentCluster() === null) {
    return yield* new NoKubeConfig({
      message:
        `The kubeconfig's current context ${JSON.stringify(config.getCurrentContext())} names no cluster; choose ` +
        `one with --context: ${contexts.join(", ") || "there is none"}.`
    })
  }
  return withProxies(config)
})
