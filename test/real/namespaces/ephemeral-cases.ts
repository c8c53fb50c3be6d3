/** Stealing by mirrord's own agent as an ephemeral container of a pod of a {@link PodWorld}. */

import { afterEach, expect, it } from "vitest"
import { asNumber, asObjects, asString, asStrings, at } from "../../../src/domain/json.ts"
import { until } from "../../support/until.ts"
import { type RunningCommand } from "../harness.ts"
import { nothingLeft } from "../sessions.ts"
import { agentRules } from "./pod-rules.ts"
import { allGivenBack, answerOf, answers, beginSession, visit } from "./pod-sessions.ts"
import type { PodWorld, WebPod } from "./pod-world.ts"
import { stealsHttps } from "./steals-https.ts"

const podsRef = { group: "", version: "v1", resource: "pods" } as const
/** How long an agent waits for another client after its last one: a minute, were it not for the test. */
export const agentIdleTtlSecs = 5

interface EphemeralAgent {
  readonly name: string
  readonly state: string
  readonly exitCode: number | undefined
}

/** Defines the cases in the calling `describe`, whose agents wait for {@link agentIdleTtlSecs} and speak TLS or not. */
export const ephemeralCases = (
  world: PodWorld,
  { agentTls, layerApp, mirrord }: { readonly agentTls: boolean; readonly layerApp: string; readonly mirrord: string }
): void => {
  const { pods, real, served } = world
  const running: Array<RunningCommand> = []
  afterEach(() => {
    for (const command of running.splice(0)) command.stop()
  })

  const podObject = ({ cluster, name }: WebPod) => real.cluster(cluster).cluster.store.get(podsRef, "default", name)
  /** The agents that a pod has had so far, in the order in which they were added. */
  const agentsOf = (pod: WebPod): ReadonlyArray<EphemeralAgent> =>
    asObjects(at(podObject(pod), "status", "ephemeralContainerStatuses")).map(({ name, state }) => ({
      name: asString(name) ?? "",
      state: Object.keys(state as object).join(),
      exitCode: asNumber(at(state, "terminated", "exitCode"))
    }))
  const logOf = async ({ cluster, name }: WebPod, container: string): Promise<string> => {
    const answer = real.cluster(cluster).kubelet.podLogs("default", name, container)
    if (answer._tag !== "Lines") return answer.message
    const lines: Array<string> = []
    for await (const line of answer.lines) lines.push(line)
    return lines.join("\n")
  }

  /** A session that steals the requests of a user, which all pods see. */
  const stealsFrom = async (user: string): Promise<RunningCommand> => {
    const reads = ["--env", "CLUSTER", "--env", "MIRRORD_AGENT_IDLE_TTL", "--env", "AGENT_OPERATOR_CERT_ENV"]
    const steals = ["--read", "/mnt/pod.txt", "--steal", `80:^x-user: ${user}$`, "--respond", `for ${user}`]
    const app = await beginSession(real, mirrord, ["exec", "--", layerApp, ...reads, ...steals])
    running.push(app)
    const valueOf = async (variable: string) =>
      (await app.waitForEvent("env", ({ name }) => name === variable))["value"]
    expect(await valueOf("CLUSTER")).toBe("cluster-a")
    // The agent itself answers these too; the operator takes them out.
    expect(await valueOf("MIRRORD_AGENT_IDLE_TTL")).toBeNull()
    expect(await valueOf("AGENT_OPERATOR_CERT_ENV")).toBeNull()
    const { text } = await app.waitForEvent("file")
    expect(pods().map(({ name }) => `a file of ${name}\n`)).toContain(text)
    expect(await app.waitForEvent("subscribed")).toMatchObject({ mode: "steal", port: 80, ok: true })
    await isServed(app, user)
    return app
  }
  /** Whether requests that enter at any pod get to the local application if they are the user's, and only then. */
  const isServed = async (app: RunningCommand, user: string): Promise<void> => {
    const number = ++rounds
    for (const pod of pods()) {
      const [match, other] = [`/match-${number}-${pod.name}`, `/other-${number}-${pod.name}`]
      await answers(pod, `for ${user} ${match}\n`, (signal) => visit(pod, match, { "x-user": user }, signal))
      await app.waitForEvent("request", ({ path }) => path === match)
      expect(await visit(pod, other, { "x-user": "somebody else" })).toBe(answerOf(pod, other))
      const seen = await served(pod)
      expect(seen).toContain(`GET ${other}`)
      expect(seen).not.toContain(`GET ${match}`)
      expect(await agentRules(pod.pid)).not.toEqual([])
    }
  }
  let rounds = 0

  it("steals by header in every pod of any cluster, from inside of the pod", async () => {
    const ann = await stealsFrom("ann")
    for (const pod of pods()) {
      expect(agentsOf(pod)).toMatchObject([{ name: expect.stringMatching(/^mirrord-agent-.*-1$/u), state: "running" }])
      const [container] = asObjects(at(podObject(pod), "spec", "ephemeralContainers"))
      expect(asStrings(container?.["args"]).at(-1)).toBe("ephemeral")
      expect(container?.["targetContainerName"]).toBe("web")
      const variables = asObjects(container?.["env"]).map(({ name }) => name)
      expect(variables.includes("AGENT_OPERATOR_CERT_ENV")).toBe(agentTls)
    }
    const bob = await stealsFrom("bob")
    ann.stop()
    await isServed(bob, "bob")
    // Both sessions have the same agents: two in one pod would fight over its redirects.
    for (const pod of pods()) expect(agentsOf(pod)).toMatchObject([{ state: "running" }])
    bob.stop()
    await allGivenBack(pods())
  })

  it("ends by itself after its last session, and a later session gets another one", async () => {
    await nothingLeft(real)
    for (const pod of pods()) {
      await until(`the end of the agent of ${pod.name}`, () =>
        agentsOf(pod).every(({ state }) => state === "terminated") ? true : undefined
      )
      const [{ name } = { name: "" }] = agentsOf(pod)
      expect(agentsOf(pod), await logOf(pod, name)).toEqual([{ name, state: "terminated", exitCode: 0 }])
      expect(await agentRules(pod.pid)).toEqual([])
    }
    const ann = await stealsFrom("ann")
    for (const pod of pods()) {
      expect(agentsOf(pod)).toMatchObject([
        { state: "terminated" },
        { name: expect.stringMatching(/^mirrord-agent-.*-2$/u), state: "running" }
      ])
    }
    ann.stop()
    await allGivenBack(pods())
  })

  it("filters over TLS steal what matches, with the certificate of the cluster's configuration", () =>
    stealsHttps(world, mirrord))
}
