import { Effect, Fiber } from "effect"
import { afterEach, describe, expect, it } from "vitest"
import type { DialAgent } from "../../../src/adapters/agents/agent-starter.ts"
import { podAgents } from "../../../src/adapters/agents/pod-agents.ts"
import { asObjects, at } from "../../../src/domain/json.ts"
import { pods } from "../../../src/domain/resources/core-kinds.ts"
import type { OwnerReference } from "../../../src/domain/resources/object-meta.ts"
import type { AgentPlacement } from "../../../src/domain/targets/pod-choice.ts"
import { AgentUnreachable } from "../../../src/ports/agents.ts"
import type { KubeApi, KubeError, KubeObject } from "../../../src/ports/kube-api.ts"
import { eventually } from "../../support/eventually.ts"
import { placement, settingsWith } from "./agent-examples.ts"

const run = Effect.runPromise
const failureOf = (effect: Effect.Effect<unknown, KubeError>): Promise<KubeError> => run(Effect.flip(effect))
const namespace = "default"
const nobodyThere: DialAgent = (host) => Effect.fail(new AgentUnreachable({ agent: host, detail: "nobody" }))
const owner: OwnerReference = {
  apiVersion: "mirrord.metalbear.co/v1alpha",
  kind: "MirrordClusterSession",
  name: "session-1",
  uid: "1"
}
const ephemeralOf = (pod: KubeObject) => asObjects(at(pod, "spec", "ephemeralContainers"))
const plain = (name: string, more: object = {}) => ({ name, image: "debug:1", targetContainerName: "app", ...more })

/** Ephemeral containers and the agents that they become, at a real connection. No kubelet may look after the pods. */
export const ephemeralAgentsSuite = (server: () => KubeApi): void => {
  const made: Array<string> = []
  const makePod = (name: string, spec: object = {}): Promise<KubeObject> => {
    made.push(name)
    return run(
      server().create(
        pods,
        {
          apiVersion: "v1",
          kind: "Pod",
          metadata: { name },
          spec: {
            automountServiceAccountToken: false,
            containers: [{ name: "app", image: "app:1", ports: [{ containerPort: 8080 }] }],
            ...spec
          }
        },
        namespace
      )
    )
  }
  const pod = (name: string) => run(server().get(pods, name, namespace))
  const withContainers = (of: KubeObject, containers: ReadonlyArray<object>): KubeObject => ({
    ...of,
    spec: { ...(of["spec"] as object), ephemeralContainers: containers }
  })
  const update = (of: KubeObject) => server().update(pods, of, { namespace, subresource: "ephemeralcontainers" })
  /** A kubelet's word on the pod. */
  const say = (name: string, status: object) =>
    run(server().mergePatch(pods, name, { status }, { namespace, subresource: "status" }))

  afterEach(async () => {
    for (const name of made.splice(0)) await run(server().delete(pods, name, { namespace, gracePeriodSeconds: 0 }))
  })

  describe("ephemeral containers", () => {
    it("are added to a pod of which nothing else changes, and never changed or removed", async () => {
      const before = await makePod("ephemeral")
      const relabelled = { ...before, metadata: { ...before.metadata, labels: { new: "yes" } } }
      const after = await run(update(withContainers(relabelled, [plain("debug")])))
      expect(ephemeralOf(after)).toMatchObject([{ ...plain("debug"), terminationMessagePath: "/dev/termination-log" }])
      expect(after.metadata.labels).toBeUndefined()
      expect(after.metadata.uid).toBe(before.metadata.uid)
      expect(ephemeralOf(await pod("ephemeral"))).toEqual(ephemeralOf(after))
      for (const [containers, word] of [
        [[], "removed"],
        [[plain("debug", { image: "debug:2" })], "changed"]
      ] as const)
        expect(await failureOf(update(withContainers(after, containers)))).toMatchObject({
          reason: "Invalid",
          code: 422,
          detail: expect.stringContaining(`existing ephemeral containers "debug" may not be ${word}`)
        })
    })

    it("are not added to an old view of a pod: Conflict", async () => {
      const before = await makePod("stale")
      const after = await run(update(withContainers(before, [plain("first")])))
      expect(await failureOf(update(withContainers(before, [plain("second")])))).toMatchObject({
        reason: "Conflict",
        code: 409
      })
      expect(ephemeralOf(await pod("stale")).map(({ name }) => name)).toEqual(["first"])
      await run(update(withContainers(after, [...ephemeralOf(after), plain("second")])))
      expect(ephemeralOf(await pod("stale")).map(({ name }) => name)).toEqual(["first", "second"])
    })

    it("are not added through the pod itself, nor to a pod that is gone", async () => {
      const before = await makePod("direct")
      expect(
        await failureOf(
          server().mergePatch(pods, "direct", { spec: { ephemeralContainers: [plain("debug")] } }, { namespace })
        )
      ).toMatchObject({ reason: "Invalid", detail: expect.stringContaining("pod updates may not change fields") })
      const gone = { ...before, metadata: { ...before.metadata, name: "gone" } }
      expect(await failureOf(update(withContainers(gone, [plain("debug")])))).toMatchObject({ reason: "NotFound" })
    })

    it.each([
      ["the name of another container", plain("app"), "Duplicate value"],
      ["an unknown target", plain("debug", { targetContainerName: "nobody" }), "targetContainerName: Not found"],
      ["resources", plain("debug", { resources: { limits: { memory: "1Mi" } } }), "cannot be set for an Ephemeral"]
    ])("are refused with %s", async (_what, container, words) => {
      const before = await makePod("refused")
      expect(await failureOf(update(withContainers(before, [container])))).toMatchObject({
        reason: "Invalid",
        detail: expect.stringContaining(words)
      })
    })
  })

  describe("a list of pods", () => {
    it("has those of one node that run, if it is asked for these fields", async () => {
      for (const [name, nodeName, phase] of [
        ["runs", "node-1", "Running"],
        ["waits", "node-1", "Pending"],
        ["elsewhere", "node-2", "Running"]
      ] as const) {
        await makePod(name, { nodeName })
        await say(name, { phase })
      }
      const fields = { "status.phase": "Running", "spec.nodeName": "node-1" }
      const { items } = await run(server().list(pods, { fields }))
      expect(items.map(({ metadata }) => metadata.name)).toEqual(["runs"])
    })
  })

  describe("an agent as an ephemeral container", () => {
    it("is added as the server takes it, found again by the next leader, and followed by another", async () => {
      const { metadata } = await makePod("target", { containers: [{ name: "app", image: "app:1", env: [] }] })
      const target: AgentPlacement = { ...placement, podName: "target", podUid: metadata.uid }
      const settings = { ...settingsWith({ ephemeral: true, privileged: true }), port: undefined }
      const ensure = () => podAgents(server(), settings, nobodyThere).ensure(target, owner)
      const states: Array<object> = []
      /** Starts the agent that a session waits for, and gives the session's. */
      const started = async (state: object) => {
        const waiting = Effect.runFork(ensure())
        const names = await eventually("the agent's container", async () => {
          const found = ephemeralOf(await pod("target")).map(({ name }) => String(name))
          return found.length > states.length ? found : Promise.reject(new Error("no container yet"))
        })
        states.push(state)
        const ephemeralContainerStatuses = names.map((name, index) => ({
          name,
          image: "agent:1",
          imageID: "agent:1",
          ready: false,
          restartCount: 0,
          state: states[index]
        }))
        await say("target", { phase: "Running", podIP: "10.0.0.1", ephemeralContainerStatuses })
        return run(Fiber.join(waiting))
      }
      const running = { running: { startedAt: "2026-01-01T00:00:00Z" } }
      const first = await started(running)
      expect(first).toMatchObject({ uid: `${metadata.uid}/${first.name}-1`, host: "10.0.0.1" })
      expect(await run(ensure())).toEqual(first)
      states[0] = { terminated: { exitCode: 0, startedAt: "2026-01-01T00:00:00Z", finishedAt: "2026-01-01T00:01:00Z" } }
      const [container] = ephemeralOf(await pod("target"))
      await say("target", {
        ephemeralContainerStatuses: [
          {
            name: container?.["name"],
            image: "agent:1",
            imageID: "agent:1",
            ready: false,
            restartCount: 0,
            state: states[0]
          }
        ]
      })
      const second = await started(running)
      expect(second).toMatchObject({ name: first.name, uid: `${metadata.uid}/${first.name}-2` })
      expect(ephemeralOf(await pod("target")).map(({ name }) => name)).toEqual([`${first.name}-1`, `${first.name}-2`])
    })
  })
}
