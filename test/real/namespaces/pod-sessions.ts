/** Sessions with the workload of a {@link PodWorld}, and requests to its pods. */

import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { expect } from "vitest"
import { eventually } from "../../support/eventually.ts"
import { type AnyRealPlayground, request, runClient, type RunningCommand } from "../harness.ts"
import { parentNames, readySession } from "../sessions.ts"
import { getOverHttp2 } from "./over-http2.ts"
import { agentRules } from "./pod-rules.ts"
import type { WebPod } from "./pod-world.ts"

export const visit = (
  pod: WebPod,
  path: string,
  headers: Readonly<Record<string, string>> = {},
  signal?: AbortSignal
): Promise<string> => request(`http://${pod.ip}`, path, headers, signal)

export const visitOverHttp2 = (
  pod: WebPod,
  path: string,
  headers: Readonly<Record<string, string>> = {},
  signal?: AbortSignal
): Promise<string> => getOverHttp2(`http://${pod.ip}:8080`, path, headers, { signal })

/**
 * Ends of attempts, after 5 s, and after twice as long as the one before if that was in vain. When its rules are made,
 * an agent ends the open sockets of the port (`ss --kill`), also those of connections that the rules have just
 * redirected. Their peers never learn of it: such a request hangs for ever, and cannot be told from one to a loaded
 * machine. So each attempt ends, and another begins.
 */
export const attempts = (): (() => AbortSignal) => {
  let ms = 5_000
  let last: AbortSignal | undefined
  return () => {
    if (last?.aborted === true) ms *= 2
    last = AbortSignal.timeout(ms)
    return last
  }
}

/** Tries until the pod answers so, see {@link attempts}. */
export const answers = (
  pod: Pick<WebPod, "name">,
  wanted: string,
  attempt: (signal: AbortSignal) => Promise<string>
): Promise<void> => {
  const next = attempts()
  return eventually(`${pod.name} answers ${wanted}`, async () => {
    expect(await attempt(next())).toBe(wanted)
  })
}

/** The answer of the workload itself. */
export const answerOf = ({ cluster, name }: WebPod, path: string): string => `${name} in ${cluster}: GET ${path} `

/** A command of the client, once its session is ready in all clusters. */
export const beginSession = async (
  real: AnyRealPlayground,
  mirrord: string,
  args: ReadonlyArray<string>,
  incoming?: Readonly<Record<string, unknown>>
): Promise<RunningCommand> => {
  const home = real.home("pods")
  const config = join(home, "mirrord.json")
  writeFileSync(config, JSON.stringify(incoming === undefined ? {} : { feature: { network: { incoming } } }))
  const known = parentNames(real.playground())
  const [name = "", ...rest] = args
  const command = runClient({
    file: mirrord,
    args: [name, "--target", "deployment/web", "-f", config, ...rest],
    home,
    kubeconfig: real.kubeconfig()
  })
  try {
    await readySession(real, known)
  } catch (error) {
    command.stop()
    throw new Error(`${String(error)}\n${command.stderr()}`, { cause: error })
  }
  return command
}

/** Waits until no agent redirects traffic of any pod; then every pod must answer for itself. */
export const allGivenBack = async (pods: ReadonlyArray<WebPod>): Promise<void> => {
  for (const pod of pods) {
    await eventually(`the end of all redirects of ${pod.name}`, async () => {
      expect(await agentRules(pod.pid)).toEqual([])
    })
    expect(await visit(pod, "/back")).toBe(answerOf(pod, "/back"))
  }
}
