/**
 * The port `Agents` over Jobs of the operator's cluster: finds or makes the Job of an agent, adds the session to its
 * owners, waits until its pod runs and connects to it. Deletes the Job of an agent that was given up.
 *
 * Not here: the shape of the Job (agent-job.ts), the connection itself (agent-channel.ts), and the usual end of an
 * agent. An agent exits by itself after its last client, and Kubernetes deletes the Job after its last owner.
 */

import { createHash } from "node:crypto"
import { Clock, Effect, Random, type Redacted, Schedule, Semaphore } from "effect"
import { type AgentCertificate, whyUnfit } from "../../domain/agent/agent-transport.ts"
import { jobs, pods } from "../../domain/resources/core-kinds.ts"
import type { OwnerReference } from "../../domain/resources/object-meta.ts"
import type { AgentPlacement } from "../../domain/target/pod-choice.ts"
import { AgentFailed, type AgentHandle, type Agents, AgentUnreachable } from "../../ports/agents.ts"
import type { FrameChannel } from "../../ports/frame-channel.ts"
import type { KubeApi, KubeError, KubeObject } from "../../ports/kube-api.ts"
import { agentCertificate, agentJob, agentPort, type AgentSettings, isFinished } from "./agent-job.ts"
import { agentPodState, hasEnded } from "./agent-pod.ts"
import type { AgentTls } from "./secure-agent.ts"

const portRange = { least: 30_000, most: 65_535 } as const
const firstGroup = 3_000
const pollEvery = "200 millis"
/**
 * How long the pod of an agent that was given up may take to end before its successor is made, in ms. On a lost node it
 * ends never, and no successor can start there.
 */
const endWithin = 15_000
/** How long it is remembered of an agent that it was given up, in ms: its deletion has long succeeded or never will. */
const rememberedFor = 600_000

/** Opens a connection to the agent that listens at an address, with TLS if that is given. */
export type DialAgent = (
  host: string,
  port: number,
  tls: AgentTls | undefined
) => Effect.Effect<FrameChannel, AgentUnreachable>

/** The operator as agents know it, and what only the holder of its key can do. */
export interface AgentIdentity {
  readonly keyPem: Redacted.Redacted
  /** Makes the certificate of the operator for a new agent, PEM. */
  readonly issue: (agent: string) => Effect.Effect<string>
  readonly read: (certificatePem: string | undefined) => AgentCertificate
}

/** The lock of one Job's name, and how many hold it or wait for it. */
interface Turn {
  readonly semaphore: Semaphore.Semaphore
  users: number
}

/** A Job whose agent was given up, and when, epoch ms. */
interface GivenUpJob {
  readonly uid: string
  readonly at: number
}

/** Shared by all sessions that ask for agents. */
interface AgentStarter {
  readonly api: KubeApi
  readonly settings: AgentSettings
  /** Undefined: agents speak clear text. */
  readonly identity: Effect.Effect<AgentIdentity, KubeError> | undefined
  /** By the Job's name, until a successor is made. */
  readonly givenUp: Map<string, GivenUpJob>
  /** By the Job's name. Without turns, sessions that ask for the same agent at once would conflict again and again. */
  readonly turns: Map<string, Turn>
}

/** An agent that a session asks for. */
interface AgentRequest {
  readonly name: string
  readonly target: AgentPlacement | undefined
  readonly owner: OwnerReference
}

/**
 * The name of an agent: the same for every session on the same container; a targetless session has an agent of its own.
 */
const agentName = (target: AgentPlacement | undefined, owner: OwnerReference): string => {
  const key = target === undefined ? `session ${owner.uid}` : `${target.podUid} ${target.containerId}`
  return `mirrord-agent-${createHash("sha256").update(key).digest("hex").slice(0, 10)}`
}

const takeTurn = (turns: Map<string, Turn>, name: string): Turn => {
  const turn = turns.get(name) ?? { semaphore: Semaphore.makeUnsafe(1), users: 0 }
  turn.users++
  turns.set(name, turn)
  return turn
}

const leaveTurn = (turns: Map<string, Turn>, name: string, turn: Turn): void => {
  if (--turn.users === 0) turns.delete(name)
}

/** Runs the effect while no other effect of the same name runs. */
const inTurn = <A, E>(turns: Map<string, Turn>, name: string, effect: Effect.Effect<A, E>): Effect.Effect<A, E> =>
  Effect.acquireUseRelease(
    Effect.sync(() => takeTurn(turns, name)),
    ({ semaphore }) => semaphore.withPermit(effect),
    (turn) => Effect.sync(() => leaveTurn(turns, name, turn))
  )

const unlessAbsent = (error: KubeError): Effect.Effect<undefined, KubeError> =>
  error.reason === "NotFound" ? Effect.undefined : Effect.fail(error)

/** Waits until no pod of an earlier Job of the name runs; the result is whether that is so. */
const predecessorEnded = ({ api, settings }: AgentStarter, name: string): Effect.Effect<boolean, KubeError> =>
  Effect.gen(function* () {
    for (;;) {
      const { items } = yield* api.list(pods, { namespace: settings.namespace, labelSelector: `job-name=${name}` })
      if (items.every(hasEnded)) return true
      yield* Effect.sleep(pollEvery)
    }
  }).pipe(Effect.timeoutOrElse({ duration: endWithin, orElse: () => Effect.succeed(false) }))

const createJob = (starter: AgentStarter, request: AgentRequest): Effect.Effect<KubeObject, KubeError> =>
  Effect.gen(function* () {
    const { api, givenUp, settings } = starter
    const { name, target } = request
    // Targetless agents share nothing, so nothing has to end first.
    const cleansUp = givenUp.has(name) && target !== undefined && (yield* predecessorEnded(starter, name))
    const port = settings.port ?? (yield* Random.nextIntBetween(portRange.least, portRange.most))
    const group = yield* Random.nextIntBetween(firstGroup, 65_535)
    const certificatePem = starter.identity && (yield* (yield* starter.identity).issue(name))
    const job = agentJob(settings, { ...request, port, group, cleansUp, certificatePem })
    return yield* Effect.tap(api.create(jobs, job, settings.namespace), () => Effect.sync(() => givenUp.delete(name)))
  })

const deleteJob = ({ api, settings }: AgentStarter, { metadata }: KubeObject): Effect.Effect<void, KubeError> => {
  const { name, uid } = metadata
  return api
    .delete(jobs, name, { namespace: settings.namespace, ...(uid === undefined ? {} : { uid }) })
    .pipe(Effect.catch(unlessAbsent))
}

/** Adds an owner to the Job that was read; a Conflict if somebody has written the Job since. */
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

/** Why the agent of a Job that runs has to make way for another one, if it has. */
const unfit = ({ identity }: AgentStarter, job: KubeObject): Effect.Effect<string | undefined, KubeError> =>
  Effect.gen(function* () {
    // A Job that is no agent's is left alone.
    if (agentPort(job) === undefined) return undefined
    const certificatePem = agentCertificate(job)
    const now = yield* Clock.currentTimeMillis
    if (identity !== undefined) return whyUnfit(true, (yield* identity).read(certificatePem), now)
    return whyUnfit(false, { _tag: certificatePem === undefined ? "None" : "Foreign" }, now)
  })

/** Marks a Job's agent as given up, so that its successor waits for its end and cleans up after it. */
const markGivenUp = (
  { givenUp }: AgentStarter,
  { name, uid }: { readonly name: string; readonly uid: string }
): Effect.Effect<void> =>
  Effect.map(Clock.currentTimeMillis, (at) => {
    for (const [old, job] of givenUp) if (at - job.at > rememberedFor) givenUp.delete(old)
    givenUp.set(name, { uid, at })
  })

/** Whether the agent of a Job has to end before the session can have one: it is over, was given up, or is unfit. */
const hasToEnd = (starter: AgentStarter, job: KubeObject): Effect.Effect<boolean, KubeError> =>
  Effect.gen(function* () {
    const { name, uid } = job.metadata
    if (isFinished(job) || starter.givenUp.get(name)?.uid === uid) return true
    const reason = yield* unfit(starter, job)
    if (reason === undefined) return false
    yield* Effect.annotateLogs(Effect.logInfo("an agent is replaced"), { agent: name, reason })
    yield* markGivenUp(starter, { name, uid: uid ?? "" })
    return true
  })

/** The agent's Job with the session among its owners; made if there is none. Tried anew if another write came first. */
const ensureJob = (starter: AgentStarter, request: AgentRequest): Effect.Effect<KubeObject, KubeError> =>
  Effect.gen(function* () {
    const { api, settings } = starter
    const existing = yield* api.get(jobs, request.name, settings.namespace).pipe(Effect.catch(unlessAbsent))
    if (existing === undefined) return yield* createJob(starter, request)
    if (yield* hasToEnd(starter, existing)) {
      yield* deleteJob(starter, existing)
      return yield* Effect.andThen(Effect.sleep(pollEvery), () => ensureJob(starter, request))
    }
    const isOwned = existing.metadata.ownerReferences?.some(({ uid }) => uid === request.owner.uid) ?? false
    if (isOwned) return existing
    return yield* addOwner(starter, existing, request.owner).pipe(
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
      while: (error) => error.reason === "Conflict" || error.reason === "AlreadyExists",
      schedule: Schedule.spaced(pollEvery)
    })
  )

/** The pod of this very Job: pods of an earlier Job of the same name may still be there. */
const podOfJob = (
  { api, settings }: AgentStarter,
  { metadata: job }: KubeObject
): Effect.Effect<KubeObject | undefined, KubeError> =>
  Effect.map(
    api.list(pods, { namespace: settings.namespace, labelSelector: `job-name=${job.name}` }),
    ({ items }): KubeObject | undefined =>
      items.find(
        ({ metadata }) =>
          metadata.deletionTimestamp === undefined && metadata.ownerReferences?.some(({ uid }) => uid === job.uid)
      )
  )

const ensureAgent = (starter: AgentStarter, request: AgentRequest): Effect.Effect<AgentHandle, AgentFailed> => {
  const { name } = request
  const { startupTimeoutSecs } = starter.settings
  const failed = (detail: string): AgentFailed => new AgentFailed({ agent: name, detail })
  let waitsFor: string | undefined
  return Effect.gen(function* () {
    const job = yield* inTurn(starter.turns, name, ensureJob(starter, request))
    const port = agentPort(job)
    if (port === undefined) {
      return yield* failed(
        `a Job of that name is no agent: its container has no argument -l with a port; delete the Job`
      )
    }
    for (;;) {
      const state = agentPodState(yield* podOfJob(starter, job))
      if (state._tag === "Running")
        return { name, uid: job.metadata.uid ?? "", host: state.host, port, certificatePem: agentCertificate(job) }
      if (state._tag === "Failed") return yield* failed(state.detail)
      waitsFor = state.detail
      yield* Effect.sleep(pollEvery)
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

/**
 * Connects to an agent, as it was started: never in clear text where agents are to speak TLS, nor the other way round.
 */
const connectAgent = (
  { identity }: AgentStarter,
  dial: DialAgent,
  { certificatePem, host, name, port }: AgentHandle
): Effect.Effect<FrameChannel, AgentUnreachable> => {
  if (identity === undefined) return dial(host, port, undefined)
  const unreachable = (detail: string): AgentUnreachable => new AgentUnreachable({ agent: name, detail })
  return Effect.gen(function* () {
    const { keyPem, read } = yield* Effect.mapError(identity, ({ message }) => unreachable(message))
    const certificate = read(certificatePem)
    if (certificatePem === undefined || certificate._tag !== "Ours")
      return yield* unreachable("it was not started with a certificate of this operator")
    return yield* dial(host, port, { certificatePem, keyPem, serverName: certificate.serverName })
  })
}

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
 * Agents as Jobs in the cluster of `api`. With an `identity`, which is asked for when the first agent is needed, they
 * speak TLS.
 */
export const podAgents = (
  api: KubeApi,
  settings: AgentSettings,
  dial: DialAgent,
  identity?: Effect.Effect<AgentIdentity, KubeError>
): Agents["Service"] => {
  const kept = identity && once(identity)
  const starter: AgentStarter = { api, settings, identity: kept, givenUp: new Map(), turns: new Map() }
  return {
    ensure: (target, owner) => ensureAgent(starter, { name: agentName(target, owner), target, owner }),
    giveUp: (agent) => giveUpAgent(starter, agent),
    connect: (agent) => connectAgent(starter, dial, agent)
  }
}
