/**
 * The port `Agents` over Jobs of the operator's cluster: finds or makes the Job of an agent, adds the session to its
 * owners, waits until its pod runs and connects to it. Deletes the Job of an agent that was given up.
 *
 * Not here: agents as ephemeral containers (ephemeral-agents.ts), the shape of the Job (agent-job.ts), the connection
 * itself (agent-channel.ts), and the usual end of an agent. An agent exits by itself after its last client, and
 * Kubernetes deletes the Job after its last owner.
 */

import { Effect, Option, Random, Result, Schedule, Stream } from "effect"
import { podsOnNode, whyNoRoom } from "../../domain/agents/node-room.ts"
import { type AgentOwner, otherTls } from "../../domain/policies/tls/agent-tls.ts"
import { jobs, nodes, pods } from "../../domain/resources/core-kinds.ts"
import { mirrordClusterSessions } from "../../domain/resources/mirrord-cluster-session.ts"
import type { OwnerReference } from "../../domain/resources/object-meta.ts"
import { readResource } from "../../domain/resources/resource-descriptor.ts"
import type { AgentPlacement } from "../../domain/targets/pod-choice.ts"
import { AgentFailed, type AgentHandle, type Agents } from "../../ports/agents.ts"
import type { KubeApi, KubeError, KubeObject, Selection } from "../../ports/kube-api.ts"
import { agentCertificate, agentJob, agentPort, type AgentSettings, isFinished } from "./agent-job.ts"
import { agentPodState, wasKilled } from "./agent-pod.ts"
import { newProgress, whyNotYet } from "./agent-progress.ts"
import {
  type AgentIdentity,
  agentName,
  type AgentRequest,
  type AgentStarter,
  connectAgent,
  type DialAgent,
  firstGroup,
  inTurn,
  markGivenUp,
  otherTlsReason,
  pollEvery,
  portRange,
  unfitNow,
  unlessAbsent
} from "./agent-starter.ts"
import { tlsProblem, tlsValue, tlsValueOf } from "./agent-tls-variable.ts"
import { deleteJob, predecessorEnded } from "./end-job.ts"
import { ensureEphemeralAgent } from "./ephemeral-agents.ts"

/** Pause between two looks at an agent's pod that does not run yet, beside the watch over it. */
const lookEvery = "1 second"

/** Why no agent may be started beside the container now, a clause, if so. A node that cannot be read has room. */
const obstacle = (
  { api, settings }: AgentStarter,
  { ephemeralAgents = [], nodeName, podName }: AgentPlacement
): Effect.Effect<string | undefined> =>
  Effect.gen(function* () {
    const [living] = ephemeralAgents
    if (living !== undefined)
      return (
        `pod ${podName} still has the agent ${living}, an ephemeral container, and two would fight over the pod's ` +
        "packet filter; it ends by itself a minute after its last session"
      )
    if (!settings.checkOutOfPods) return undefined
    const node = readResource(nodes, yield* api.get(nodes, nodeName))
    const { items } = yield* api.list(pods, { fields: podsOnNode(nodeName) })
    return Result.isSuccess(node) ? whyNoRoom(node.success, items.length) : undefined
  }).pipe(
    Effect.catch((error) =>
      Effect.as(
        Effect.logWarning("a node was not asked for room").pipe(
          Effect.annotateLogs({ node: nodeName, problem: error.message })
        ),
        undefined
      )
    )
  )

/** The Job of an agent. `isNew`: it was made for the session that asks. */
interface AgentJob {
  readonly job: KubeObject
  readonly isNew: boolean
}

const createJob = Effect.fnUntraced(function* (
  starter: AgentStarter,
  request: AgentRequest
): Effect.fn.Return<AgentJob, KubeError | AgentFailed> {
  const { api, givenUp, settings } = starter
  const { name, target, tls } = request
  const detail = tlsProblem(tls, settings.extraEnv) ?? (target && (yield* obstacle(starter, target)))
  if (detail !== undefined) return yield* new AgentFailed({ agent: name, detail })
  // Targetless agents share nothing, so nothing has to end first.
  const cleansUp = givenUp.has(name) && target !== undefined && (yield* predecessorEnded(starter, name))
  const port = settings.port ?? (yield* Random.nextIntBetween(portRange.least, portRange.most))
  const group = yield* Random.nextIntBetween(firstGroup, 65_535)
  const certificatePem = starter.identity && (yield* (yield* starter.identity).issue(name))
  const wanted = agentJob(settings, { ...request, port, group, cleansUp, certificatePem })
  const job = yield* api.create(jobs, wanted, settings.namespace)
  givenUp.delete(name)
  return { job, isNew: true }
})

/** Adds an owner to the Job that was read; fails with a Conflict if the Job has changed since. */
const addOwner = (
  { api, settings }: AgentStarter,
  { metadata }: KubeObject,
  owner: OwnerReference
): Effect.Effect<KubeObject, KubeError> =>
  api.mergePatch(
    jobs,
    metadata.name,
    {
      metadata: {
        resourceVersion: metadata.resourceVersion,
        ownerReferences: [...(metadata.ownerReferences ?? []), owner]
      }
    },
    { namespace: settings.namespace }
  )

/** How the session of an owner is, for the agent that it owns with the asking session. */
const ownerState = (
  { api }: AgentStarter,
  asking: OwnerReference,
  { name, uid }: OwnerReference
): Effect.Effect<AgentOwner, KubeError> =>
  uid === asking.uid
    ? Effect.succeed("Asking")
    : Effect.map(api.get(mirrordClusterSessions, name).pipe(Effect.catch(unlessAbsent)), (session) =>
        session?.metadata.uid === uid && session.metadata.deletionTimestamp === undefined ? "Alive" : "Gone"
      )

/** Whether the agent of a Job has to make way for one with the TLS ports of its target; fails if others use it. */
const hasOtherTls = Effect.fnUntraced(function* (
  starter: AgentStarter,
  { name, owner, tls }: AgentRequest,
  job: KubeObject
): Effect.fn.Return<boolean, KubeError | AgentFailed> {
  if (tlsValueOf(job) === tlsValue(tls, starter.settings.extraEnv)) return false
  const owners = job.metadata.ownerReferences ?? []
  const states = yield* Effect.forEach(owners, (one) => ownerState(starter, owner, one))
  switch (otherTls(states)) {
    case "Keep":
      return false
    case "Replace":
      yield* Effect.annotateLogs(Effect.logInfo("an agent is replaced"), { agent: name, reason: otherTlsReason })
      yield* markGivenUp(starter, { name, uid: job.metadata.uid ?? "" })
      return true
    case "Refuse": {
      const alive = owners.filter((_, i) => states[i] === "Alive").map((one) => one.name)
      const detail = `${otherTlsReason}, and these sessions use it: ${alive.join(", ")}; wait for their end`
      return yield* new AgentFailed({ agent: name, detail })
    }
  }
})

/** The pods of Jobs of a name. */
const podsOfJob = ({ settings }: AgentStarter, name: string): Selection => ({
  namespace: settings.namespace,
  labelSelector: `job-name=${name}`
})

/** Whether a pod is of this very Job and stays: pods of an earlier Job of the same name may still be there. */
const isOfJob = ({ metadata: job }: KubeObject, { metadata }: KubeObject): boolean =>
  metadata.deletionTimestamp === undefined && metadata.ownerReferences?.some(({ uid }) => uid === job.uid) === true

/** A look at the pod of a Job. `version`: of the list that had it or not. */
interface PodLook {
  readonly pod: KubeObject | undefined
  readonly version: string
}

const lookAtPod = (starter: AgentStarter, job: KubeObject): Effect.Effect<PodLook, KubeError> =>
  Effect.map(starter.api.list(pods, podsOfJob(starter, job.metadata.name)), ({ items, resourceVersion }): PodLook => ({
    pod: items.find((pod) => isOfJob(job, pod)),
    version: resourceVersion
  }))

/**
 * The next look at the pod of a Job: as soon as a watch shows that it runs or never will, else after {@link lookEvery}.
 * Where watches fail the looks are all there is.
 */
const nextLook = (starter: AgentStarter, job: KubeObject, { version }: PodLook): Effect.Effect<PodLook, KubeError> =>
  starter.api.watch(pods, version, podsOfJob(starter, job.metadata.name)).pipe(
    Stream.filterMap((event) =>
      event._tag === "Changed" && isOfJob(job, event.object) && agentPodState(event.object)._tag !== "Waiting"
        ? Result.succeed(event.object)
        : Result.failVoid
    ),
    Stream.runHead,
    Effect.flatMap((pod) => (Option.isSome(pod) ? Effect.succeed({ pod: pod.value, version }) : Effect.never)),
    Effect.catch(() => Effect.never),
    Effect.timeoutOrElse({ duration: lookEvery, orElse: () => lookAtPod(starter, job) })
  )

/** Gives up an agent that was killed: it has left its redirects, which the next one then removes. */
const noteKilled = (
  starter: AgentStarter,
  { metadata: { name, uid = "" } }: KubeObject,
  pod: KubeObject | undefined
): Effect.Effect<void> => (pod !== undefined && wasKilled(pod) ? markGivenUp(starter, { name, uid }) : Effect.void)

/** Whether the agent of a Job has to end before the session can have one: it is over, was given up, or is unfit. */
const hasToEnd = Effect.fnUntraced(function* (
  starter: AgentStarter,
  job: KubeObject
): Effect.fn.Return<boolean, KubeError> {
  const { name, uid } = job.metadata
  if (starter.givenUp.get(name)?.uid === uid) return true
  if (isFinished(job)) {
    yield* noteKilled(starter, job, (yield* lookAtPod(starter, job)).pod)
    return true
  }
  // A Job that is no agent's is left alone.
  const reason = agentPort(job) === undefined ? undefined : (yield* unfitNow(starter))(name, agentCertificate(job))
  if (reason === undefined) return false
  yield* Effect.annotateLogs(Effect.logInfo("an agent is replaced"), { agent: name, reason })
  yield* markGivenUp(starter, { name, uid: uid ?? "" })
  return true
})

/**
 * The agent's Job with the session among its owners; made if there is none. Tried again if another write came first.
 */
const ensureJob = (starter: AgentStarter, request: AgentRequest): Effect.Effect<AgentJob, KubeError | AgentFailed> =>
  Effect.gen(function* () {
    const { api, settings } = starter
    const existing = yield* api.get(jobs, request.name, settings.namespace).pipe(Effect.catch(unlessAbsent))
    if (existing === undefined) return yield* createJob(starter, request)
    if ((yield* hasToEnd(starter, existing)) || (yield* hasOtherTls(starter, request, existing))) {
      yield* deleteJob(starter, existing)
      return yield* Effect.andThen(Effect.sleep(pollEvery), () => ensureJob(starter, request))
    }
    const isOwned = existing.metadata.ownerReferences?.some(({ uid }) => uid === request.owner.uid) ?? false
    if (isOwned) return { job: existing, isNew: false }
    return yield* addOwner(starter, existing, request.owner).pipe(
      Effect.map((job) => ({ job, isNew: false })),
      // Kubernetes has deleted the Job meanwhile, because its last session ended.
      Effect.catch((error) =>
        error.reason === "NotFound"
          ? Effect.andThen(Effect.sleep(pollEvery), () => ensureJob(starter, request))
          : Effect.fail(error)
      )
    )
  }).pipe(
    Effect.retry({
      times: 5,
      while: (error) => error._tag === "KubeError" && (error.reason === "Conflict" || error.reason === "AlreadyExists"),
      schedule: Schedule.spaced(pollEvery)
    })
  )

const ensureAgent = (starter: AgentStarter, request: AgentRequest): Effect.Effect<AgentHandle, AgentFailed> => {
  const { name } = request
  const { startupTimeoutSecs } = starter.settings
  const failed = (detail: string): AgentFailed => new AgentFailed({ agent: name, detail })
  let waitsFor: string | undefined
  return Effect.gen(function* () {
    const ensured = inTurn(starter.turns, name, ensureJob(starter, request))
    let { isNew, job } = yield* ensured
    const progress = newProgress()
    let look = yield* lookAtPod(starter, job)
    for (;;) {
      const port = agentPort(job)
      if (port === undefined) {
        return yield* failed(
          `a Job of that name is no agent: its container has no argument -l with a port; delete the Job`
        )
      }
      const { pod } = look
      const state = agentPodState(pod)
      if (state._tag === "Running")
        return { name, uid: job.metadata.uid ?? "", host: state.host, port, certificatePem: agentCertificate(job) }
      if (state._tag === "Failed") {
        if (isNew) return yield* failed(state.detail)
        // It has served others until now, and its Job says a moment later that it has ended.
        yield* noteKilled(starter, job, pod)
        yield* deleteJob(starter, job)
        ;({ isNew, job } = yield* ensured)
        look = yield* lookAtPod(starter, job)
        continue
      }
      // The answer is kept until the next one: it is asked for once in a while.
      waitsFor = state.detail ?? (yield* whyNotYet(starter, job, pod, progress)) ?? waitsFor
      look = yield* nextLook(starter, job, look)
    }
  }).pipe(
    Effect.mapError((error) => (error._tag === "KubeError" ? failed(error.message) : error)),
    Effect.timeoutOrElse({
      duration: startupTimeoutSecs * 1_000,
      orElse: () => {
        const why = waitsFor === undefined ? "" : `: ${waitsFor}`
        return Effect.fail(failed(`it was not running within ${startupTimeoutSecs} s${why}`))
      }
    })
  )
}

/**
 * Deletes the Job of an agent, and remembers its uid: should the deletion fail, `ensure` deletes the Job before it
 * makes another. The pod gets its usual time to end, in which the agent removes its redirects (agent.md §3.8).
 */
const giveUpAgent = (starter: AgentStarter, { name, uid }: AgentHandle): Effect.Effect<void, AgentFailed> =>
  Effect.gen(function* () {
    const { api, settings } = starter
    yield* markGivenUp(starter, { name, uid })
    const job = yield* api.get(jobs, name, settings.namespace).pipe(Effect.catch(unlessAbsent))
    // The name may be a successor's by now.
    if (job?.metadata.uid === uid) yield* deleteJob(starter, job)
  }).pipe(
    Effect.mapError((error) => new AgentFailed({ agent: name, detail: `its Job cannot be deleted: ${error.message}` }))
  )

/** Runs the effect once, and again only as long as it fails. */
const once = <A, E>(effect: Effect.Effect<A, E>): Effect.Effect<A, E> => {
  let made: { readonly value: A } | undefined
  return Effect.suspend(() =>
    made === undefined
      ? Effect.tap(effect, (value) =>
          Effect.sync(() => {
            made = { value }
          })
        )
      : Effect.succeed(made.value)
  )
}

/**
 * Agents in the cluster of `api`, as Jobs, or as ephemeral containers where the settings say so. With an `identity`,
 * which is asked for when the first agent is needed, they speak TLS.
 */
export const podAgents = (
  api: KubeApi,
  settings: AgentSettings,
  dial: DialAgent,
  identity?: Effect.Effect<AgentIdentity, KubeError>
): Agents["Service"] => {
  const kept = identity && once(identity)
  const starter: AgentStarter = { api, settings, identity: kept, givenUp: new Map(), turns: new Map() }
  const connect = (agent: AgentHandle) => connectAgent(starter, dial, agent)
  return settings.ephemeral
    ? {
        ensure: (target, owner, tls = []) =>
          ensureEphemeralAgent(starter, { name: agentName(target, owner), target, owner, tls }),
        // Nothing can end it but itself, and it does so when its connections have ended.
        giveUp: (agent) => markGivenUp(starter, agent),
        connect
      }
    : {
        ensure: (target, owner, tls = []) =>
          ensureAgent(starter, { name: agentName(target, owner), target, owner, tls }),
        giveUp: (agent) => giveUpAgent(starter, agent),
        connect
      }
}
