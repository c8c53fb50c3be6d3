/**
 * Agents as ephemeral containers of their targets' pods: finds the agent of a container, or adds one to the pod, and
 * waits until it runs. The agent listens at the pod's own address. Nothing here ends an agent, since nothing can: it
 * exits by itself a minute after its last client.
 *
 * Not here: the decision (domain/agents/ephemeral-agents.ts), and the shape of the container (ephemeral-container.ts).
 */

import { Effect, Random } from "effect"
import { ephemeralPort, ephemeralStep } from "../../domain/agents/ephemeral-agents.ts"
import { quotation } from "../../domain/clean-text.ts"
import { asObject, asString, at } from "../../domain/json.ts"
import { jobs, pods } from "../../domain/resources/core-kinds.ts"
import type { AgentPlacement } from "../../domain/targets/pod-choice.ts"
import { AgentFailed, type AgentHandle } from "../../ports/agents.ts"
import type { KubeError, KubeObject } from "../../ports/kube-api.ts"
import { isFinished } from "./agent-job.ts"
import {
  type AgentRequest,
  type AgentStarter,
  firstGroup,
  inTurn,
  otherTlsReason,
  pollEvery,
  portRange,
  unfitNow,
  unlessAbsent
} from "./agent-starter.ts"
import { tlsProblem, tlsValue } from "./agent-tls-variable.ts"
import { deleteJob, predecessorEnded } from "./end-job.ts"
import {
  containerNamed,
  declaredPorts,
  ephemeralAgentsOf,
  ephemeralContainer,
  type ReadAgent,
  withEphemeralContainer
} from "./ephemeral-container.ts"

/** Random ports that are tried before the pod counts as full. */
const portsTried = 20
/** Looks at the pod in quick succession: in that time an agent usually starts. */
const quickLooks = 10
/** Pause between two looks afterwards, or while an earlier agent has to end, which takes a minute. */
const lookEvery = "2 seconds"
/** Max retries to add a container after another writer changed the pod. */
const conflictsBorne = 5

interface EphemeralRequest extends AgentRequest {
  readonly target: AgentPlacement
}

/** A look at the pod: the agent that can be dialled, or what is waited for. */
type Look =
  | { readonly _tag: "Running"; readonly handle: AgentHandle }
  /** `container`: the agent of this run that is starting; undefined while an earlier one has to end. */
  | { readonly _tag: "Waiting"; readonly detail: string | undefined; readonly container: string | undefined }

const failed = (request: EphemeralRequest, detail: string): AgentFailed =>
  new AgentFailed({ agent: request.name, detail })

/** Two agents of one container are two, although they have one name for sessions. */
const uidOf = ({ podUid }: AgentPlacement, container: string): string => `${podUid ?? ""}/${container}`

/** Reads the target's pod by its UID: a new pod of the same name is a different target. */
const readPod = Effect.fnUntraced(function* (
  { api }: AgentStarter,
  request: EphemeralRequest
): Effect.fn.Return<KubeObject, KubeError | AgentFailed> {
  const { podName, podNamespace, podUid } = request.target
  const pod = yield* api.get(pods, podName, podNamespace)
  if (podUid !== undefined && pod.metadata.uid !== podUid)
    return yield* failed(request, `pod ${podName} is another one by now`)
  return pod
})

/** Ends the agent that was made as a Job before the settings changed: two agents of one container would fight. */
const endEarlierJob = Effect.fnUntraced(function* (
  starter: AgentStarter,
  request: EphemeralRequest
): Effect.fn.Return<void, KubeError | AgentFailed> {
  const { api, settings } = starter
  const job = yield* api.get(jobs, request.name, settings.namespace).pipe(Effect.catch(unlessAbsent))
  if (job !== undefined && !isFinished(job)) yield* deleteJob(starter, job)
  // The pod of a Job that is gone may still run.
  if (!(yield* predecessorEnded(starter, request.name)))
    return yield* failed(request, "the agent of its earlier Job does not end; look at the node of its pod")
})

const portFor = (
  { settings }: AgentStarter,
  pod: KubeObject,
  agents: ReadonlyArray<ReadAgent>
): Effect.Effect<number | undefined> =>
  Effect.map(
    settings.port === undefined
      ? Effect.replicateEffect(Random.nextIntBetween(portRange.least, portRange.most), portsTried)
      : Effect.succeed([settings.port]),
    (candidates) => ephemeralPort(candidates, declaredPorts(pod), agents)
  )

/** Adds an agent to the pod that was read; fails with a Conflict if the pod has changed since. */
const addTo = Effect.fnUntraced(function* (
  starter: AgentStarter,
  request: EphemeralRequest,
  pod: KubeObject,
  { cleansUp, name }: { readonly name: string; readonly cleansUp: boolean }
): Effect.fn.Return<void, KubeError | AgentFailed> {
  const { api, givenUp, identity, settings } = starter
  const { target, tls } = request
  const problem = tlsProblem(tls, settings.extraEnv)
  if (problem !== undefined) return yield* failed(request, problem)
  const container = containerNamed(pod, target.containerName)
  if (container === undefined)
    return yield* failed(request, `pod ${target.podName} has no container ${target.containerName} in its spec`)
  yield* endEarlierJob(starter, request)
  const port = yield* portFor(starter, pod, ephemeralAgentsOf(pod))
  if (port === undefined) {
    const why = settings.port === undefined ? "no port is free" : `port ${settings.port} (agent.port) is in use`
    return yield* failed(request, `in pod ${target.podName} ${why}`)
  }
  const added = ephemeralContainer(settings, {
    name,
    port,
    group: yield* Random.nextIntBetween(firstGroup, 65_535),
    target,
    container,
    cleansUp,
    certificatePem: identity && (yield* (yield* identity).issue(request.name)),
    tls
  })
  yield* api.update(pods, withEphemeralContainer(pod, added), {
    namespace: target.podNamespace,
    subresource: "ephemeralcontainers"
  })
  givenUp.delete(request.name)
})

const saidOf = (reason = "Error"): string =>
  reason === "Error" || reason === "Completed" ? "" : ` (${quotation(reason)})`

/** Why the agent that was waited for never will run, a clause: another one would end as well. */
const whyOver = (agent: ReadAgent | undefined, { podName, podNamespace }: AgentPlacement): string | undefined =>
  agent?.state._tag === "Ended"
    ? `its container ${agent.name} ended with exit code ${agent.state.exitCode}${saidOf(agent.state.reason)}; ` +
      `\`kubectl -n ${podNamespace} logs ${podName} -c ${agent.name}\` says why`
    : undefined

/** Looks at the pod, and adds an agent if there is none. `awaited`: the container for which the last look waits. */
const look = Effect.fnUntraced(function* (
  starter: AgentStarter,
  request: EphemeralRequest,
  awaited: string | undefined
): Effect.fn.Return<Look, KubeError | AgentFailed> {
  const { name, target } = request
  const pod = yield* readPod(starter, request)
  const agents = ephemeralAgentsOf(pod)
  const over = whyOver(
    agents.find((agent) => agent.name === awaited),
    target
  )
  if (over !== undefined) return yield* failed(request, over)
  const whyUnfit = yield* unfitNow(starter)
  const certificates = new Map(agents.map((agent) => [agent.name, agent.certificatePem]))
  const tlsPorts = tlsValue(request.tls, starter.settings.extraEnv)
  const otherTls = new Set(agents.flatMap((agent) => (agent.tls === tlsPorts ? [] : [agent.name])))
  const step = ephemeralStep({
    agents,
    base: name,
    target: target.containerName,
    isShared: asObject(pod["spec"])["shareProcessNamespace"] === true,
    mustEnd: (agent) =>
      starter.givenUp.get(name)?.uid === uidOf(target, agent.name)
        ? "it stopped answering, and an ephemeral container ends by itself or with its pod"
        : (whyUnfit(name, certificates.get(agent.name)) ?? (otherTls.has(agent.name) ? otherTlsReason : undefined))
  })
  switch (step._tag) {
    case "Refuse":
      return yield* failed(request, step.detail)
    case "Wait":
      return { _tag: "Waiting", detail: step.detail, container: step.detail ? undefined : step.agent.name }
    case "Add":
      yield* addTo(starter, request, pod, step)
      return { _tag: "Waiting", detail: undefined, container: step.name }
    case "Use": {
      const host = asString(at(pod, "status", "podIP"))
      if (host === undefined) return { _tag: "Waiting", detail: "its pod has no address", container: undefined }
      const { name: container, port } = step.agent
      const certificatePem = certificates.get(container)
      const uid = uidOf(target, container)
      const handle = { name, uid, host, port, certificatePem, tellsOwnVariables: true } as const
      return { _tag: "Running", handle }
    }
  }
})

const started = Effect.fnUntraced(function* (
  starter: AgentStarter,
  request: EphemeralRequest,
  waits: (detail: string | undefined) => void
): Effect.fn.Return<AgentHandle, KubeError | AgentFailed> {
  // All agents of a pod are in one list, so sessions on its other containers write the same object.
  const inPodsTurn = <A, E>(effect: Effect.Effect<A, E>) =>
    inTurn(starter.turns, `pod ${request.target.podUid ?? request.target.podName}`, effect)
  let container: string | undefined
  let conflicts = 0
  for (let looks = 0; ; looks++) {
    const seen = yield* Effect.result(inPodsTurn(look(starter, request, container)))
    if (seen._tag === "Failure") {
      const error = seen.failure
      if (error._tag !== "KubeError" || error.reason !== "Conflict" || ++conflicts > conflictsBorne) return yield* error
    } else if (seen.success._tag === "Running") return seen.success.handle
    else {
      if (container !== seen.success.container) looks = 0
      container = seen.success.container
      waits(seen.success.detail)
    }
    const isUsual = looks < quickLooks && (seen._tag === "Failure" || container !== undefined)
    yield* Effect.sleep(isUsual ? pollEvery : lookEvery)
  }
})

/** The agent of a container, as an ephemeral container of its pod; added if there is none. */
export const ensureEphemeralAgent = (
  starter: AgentStarter,
  { name, owner, target, tls }: AgentRequest
): Effect.Effect<AgentHandle, AgentFailed> => {
  const { startupTimeoutSecs } = starter.settings
  if (target === undefined) {
    const detail =
      "agents are ephemeral containers here (agent.extraConfig.ephemeral), which need the pod of a target, and this " +
      "session has none; name a target"
    return Effect.fail(new AgentFailed({ agent: name, detail, isNotAllowed: true }))
  }
  const request = { name, owner, target, tls }
  let waitsFor: string | undefined
  return started(starter, request, (detail) => {
    waitsFor = detail
  }).pipe(
    Effect.mapError((error) => (error._tag === "KubeError" ? failed(request, error.message) : error)),
    Effect.timeoutOrElse({
      duration: startupTimeoutSecs * 1_000,
      orElse: () => {
        const why = waitsFor === undefined ? "" : `: ${waitsFor}`
        return Effect.fail(failed(request, `it was not running within ${startupTimeoutSecs} s${why}`))
      }
    })
  )
}
