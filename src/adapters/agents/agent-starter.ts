/**
 * The common part of agents that are Jobs and of those that are ephemeral containers: the operator that starts them,
 * their names, turns between sessions, agents that were given up, and connections.
 *
 * Not here: making an agent (pod-agents.ts, ephemeral-agents.ts).
 */

import { createHash } from "node:crypto"
import { Clock, Effect, type Redacted, Semaphore } from "effect"
import { type AgentCertificate, isFor, whyUnfit } from "../../domain/agents/agent-transport.ts"
import type { PortTls } from "../../domain/policies/tls/tls-steal-rules.ts"
import type { OwnerReference } from "../../domain/resources/object-meta.ts"
import type { AgentPlacement } from "../../domain/targets/pod-choice.ts"
import { type AgentHandle, AgentUnreachable } from "../../ports/agents.ts"
import type { FrameChannel } from "../../ports/frame-channel.ts"
import type { KubeApi, KubeError } from "../../ports/kube-api.ts"
import type { AgentSettings } from "./agent-job.ts"
import type { AgentTls } from "./secure-agent.ts"

export const portRange = { least: 30_000, most: 65_535 } as const
export const firstGroup = 3_000
export const pollEvery = "200 millis"
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

/** The lock of one name, and how many hold it or wait for it. */
interface Turn {
  readonly semaphore: Semaphore.Semaphore
  users: number
}

/** An agent that was given up, and when, epoch ms. */
interface GivenUpAgent {
  readonly uid: string
  readonly at: number
}

/** Shared by all sessions that ask for agents. */
export interface AgentStarter {
  readonly api: KubeApi
  readonly settings: AgentSettings
  /** Undefined: agents speak clear text. */
  readonly identity: Effect.Effect<AgentIdentity, KubeError> | undefined
  /** By the agent's name, until a successor is made. */
  readonly givenUp: Map<string, GivenUpAgent>
  /** By name. Without turns, sessions that ask for the same agent at once would conflict again and again. */
  readonly turns: Map<string, Turn>
}

/** An agent that a session asks for. */
export interface AgentRequest {
  readonly name: string
  readonly target: AgentPlacement | undefined
  readonly owner: OwnerReference
  /** The target's ports that serve TLS. */
  readonly tls: ReadonlyArray<PortTls>
}

/** Why an agent with other TLS ports is of no use, a clause. */
export const otherTlsReason =
  "it runs with other TLS settings than MirrordTlsStealConfig and MirrordClusterTlsStealConfig have for this target now"

/**
 * The name of an agent: the same for every session on the same container; a targetless session has an agent of its own.
 */
export const agentName = (target: AgentPlacement | undefined, owner: OwnerReference): string => {
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
export const inTurn = <A, E>(
  turns: Map<string, Turn>,
  name: string,
  effect: Effect.Effect<A, E>
): Effect.Effect<A, E> =>
  Effect.acquireUseRelease(
    Effect.sync(() => takeTurn(turns, name)),
    ({ semaphore }) => semaphore.withPermit(effect),
    (turn) => Effect.sync(() => leaveTurn(turns, name, turn))
  )

export const unlessAbsent = (error: KubeError): Effect.Effect<undefined, KubeError> =>
  error.reason === "NotFound" ? Effect.undefined : Effect.fail(error)

/** Marks an agent as given up, so that its successor waits for its end and cleans up after it. */
export const markGivenUp = (
  { givenUp }: AgentStarter,
  { name, uid }: { readonly name: string; readonly uid: string }
): Effect.Effect<void> =>
  Effect.map(Clock.currentTimeMillis, (at) => {
    for (const [old, agent] of givenUp) if (at - agent.at > rememberedFor) givenUp.delete(old)
    givenUp.set(name, { uid, at })
  })

/** Says of an agent, by the certificate that it was started with, why it has to make way for another, if it has. */
export const unfitNow = Effect.fnUntraced(function* ({
  identity
}: AgentStarter): Effect.fn.Return<
  (name: string, certificatePem: string | undefined) => string | undefined,
  KubeError
> {
  const known = identity && (yield* identity)
  const now = yield* Clock.currentTimeMillis
  return (name, certificatePem) => {
    if (known !== undefined) return whyUnfit({ name, certificate: known.read(certificatePem), isEncrypted: true }, now)
    const _tag = certificatePem === undefined ? "None" : "Foreign"
    return whyUnfit({ name, certificate: { _tag }, isEncrypted: false }, now)
  }
})

/**
 * Connects to an agent, as it was started: never in clear text where agents are to speak TLS, nor the other way round.
 */
export const connectAgent = (
  { identity }: AgentStarter,
  dial: DialAgent,
  { certificatePem, host, name, port }: AgentHandle
): Effect.Effect<FrameChannel, AgentUnreachable> => {
  if (identity === undefined) return dial(host, port, undefined)
  const unreachable = (detail: string): AgentUnreachable => new AgentUnreachable({ agent: name, detail })
  return Effect.gen(function* () {
    const { keyPem, read } = yield* Effect.mapError(identity, ({ message }) => unreachable(message))
    const certificate = read(certificatePem)
    if (certificatePem === undefined || certificate._tag !== "Ours" || !isFor(name, certificate.serverName))
      return yield* unreachable("it was not started with a certificate that this operator made for it")
    return yield* dial(host, port, { certificatePem, keyPem, serverName: certificate.serverName })
  })
}
