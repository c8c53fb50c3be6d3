/**
 * Follows the credentials of one member: looks at them when its Secrets change or a time has come, and carries out what
 * credential-plan.ts decides. Engages the member when it has credentials, and disengages it while it has none; other
 * credentials of an engaged member cost it neither watches nor links.
 *
 * Not here: the decisions (domain/fleet/credentials/credential-plan.ts), reading the Secrets (read-credentials.ts), and
 * the requests for tokens (member-token.ts).
 */

import { Clock, Effect, Queue, Result } from "effect"
import { credentialsEndEvent, credentialsFailedEvent, tokenIgnoredEvent } from "../../domain/events/fleet-events.ts"
import type { ClusterName } from "../../domain/fleet/cluster-name.ts"
import type { MemberConfiguration } from "../../domain/fleet/configuration.ts"
import { authWords, type MadeAuth, madeAuth } from "../../domain/fleet/credentials/cluster-auth.ts"
import {
  afterFailure,
  afterGrant,
  afterKeeping,
  afterMaking,
  afterRefusal,
  afterUse,
  type CredentialAction,
  type CredentialMemory,
  type CredentialObservation,
  credentialPlan,
  type DueRenewal,
  newMemory,
  whyUnauthorized
} from "../../domain/fleet/credentials/credential-plan.ts"
import type { MemberCredentials, MemberToken } from "../../domain/fleet/credentials/member-credentials.ts"
import { momentText } from "../../domain/fleet/credentials/validity.ts"
import type { ClusterConnector, MemberAccess } from "../../ports/cluster-connector.ts"
import type { MakeCredentials } from "../../ports/credential-maker.ts"
import { LogOnce } from "../kernel/log-once.ts"
import { logInfo, logWarning } from "../kernel/log.ts"
import { counter, countOne } from "../kernel/metrics.ts"
import { untilDone } from "../kernel/until-done.ts"
import { type ClusterConnection, type CredentialState, disengage, engage } from "./cluster-connection.ts"
import { grantToken, keepToken } from "./member-token.ts"
import { type MemberSecrets, readMember } from "./read-credentials.ts"

/** A member whose credentials are followed. */
export interface FollowedMember extends MemberSecrets {
  readonly connection: ClusterConnection
  readonly connector: ClusterConnector["Service"]
  readonly makeCredentials: MakeCredentials
  /** The member as it is configured now. */
  readonly member: () => MemberConfiguration
  /** Namespace of the Secrets, and of this operator. */
  readonly namespace: string
  /** Reports that a Secret has changed, or that both are known. */
  readonly changes: Queue.Queue<void>
  /** From 0 up to 1: this member's place among the members that are renewed in the same hour. */
  readonly share: number
  /** Waits for this member's turn among all whose credentials are due. */
  readonly turn: Effect.Effect<void>
  /** Engages the member; `undefined` for a connection that watches it. */
  readonly engage?: typeof engage | undefined
  /** Whether this process gets new tokens and keeps them. Otherwise another process does, and this one reads them. */
  readonly renews?: boolean | undefined
}

interface State extends FollowedMember {
  memory: CredentialMemory
  engaged: MemberAccess | undefined
  /** Whether the Secrets are known. */
  isKnown: boolean
  /** Of tries that failed. */
  readonly logs: { readonly renewing: LogOnce; readonly keeping: LogOnce; readonly making: LogOnce }
}

const renewalCounter = (outcome: "succeeded" | "failed") => counter("braid_credential_renewals_total", { outcome })

/** The credentials as metrics report them. */
const credentialState = ({ member, memory }: State): CredentialState => {
  const { ending, making, renewing, tokens } = memory
  const auth = authWords[member().auth._tag]
  if (madeAuth(member().auth) === undefined)
    return { auth, until: (tokens?.used.claims ?? ending)?.validity.until, failures: renewing.failures }
  const until = making.last?.until
  return { auth, until: until === Infinity ? undefined : until, failures: making.failures }
}

const observe = (state: State, now: number): CredentialObservation => {
  const { connection, isKnown, member, renews = true, share } = state
  const { auth } = member()
  const known = connection.state
  return {
    now,
    share,
    auth,
    reading: isKnown && madeAuth(auth) === undefined ? readMember(auth, state) : undefined,
    answeredAt: known._tag === "Connected" ? known.lastCheck.askedAt : undefined,
    renews
  }
}

/** Reports an Event of the member, and a line of the log. */
const report = (
  { connection, member }: State,
  line: string,
  event: (cluster: ClusterName) => Parameters<ClusterConnection["events"]["happened"]>[1],
  problem: string
): Effect.Effect<void> => {
  const cluster = member().name
  return Effect.andThen(logWarning(line, { cluster, problem }), () =>
    Effect.sync(() => connection.events.happened(cluster, event(cluster)))
  )
}

const useCredentials = (state: State, credentials: MemberCredentials): Effect.Effect<void> => {
  const { connection, connector, engaged, member } = state
  const inUse = Effect.sync(() => (state.memory = afterUse(state.memory, Result.succeed(credentials))))
  if (engaged !== undefined) {
    connection.isReauthenticated = true
    engaged.reauthenticate(credentials)
    return inUse
  }
  const connect = Effect.tap(connector.member(member(), credentials), (access) =>
    Effect.sync(() => (state.engaged = access))
  )
  return Effect.andThen((state.engage ?? engage)(connection, connect), inUse)
}

/** A try that failed: a line of the log says why, once. */
const failed = (state: State, tried: "renewing" | "keeping", message: string, problem: string): Effect.Effect<void> =>
  Effect.flatMap(Clock.currentTimeMillis, (now) => {
    const log = state.logs[tried]
    if (state.memory[tried].failures === 0) log.reset()
    state.memory = afterFailure(state.memory, tried, { now, share: state.share })
    return log.tell(problem, logWarning(message, { cluster: state.member().name, problem }))
  })

/** Writes a granted token into its Secret. */
const keep = (state: State, token: MemberToken): Effect.Effect<void> => {
  const { connector, namespace, refreshed: name, secretOf } = state
  return keepToken({ own: connector.own.api, namespace, name, known: secretOf(name) }, token).pipe(
    Effect.matchEffect({
      onSuccess: () =>
        Effect.map(Clock.currentTimeMillis, (now) => {
          state.memory = afterKeeping(state.memory, token, now)
        }),
      onFailure: ({ detail }) => failed(state, "keeping", "renewed token is not kept", detail)
    })
  )
}

/** Gets the next token from the member. The next look uses it, and keeps it. */
const renew = Effect.fnUntraced(function* (
  state: State,
  renewal: DueRenewal,
  access: MemberAccess
): Effect.fn.Return<void> {
  const { connector, member } = state
  const granted = yield* Effect.result(grantToken({ connector, member: member(), access }, renewal))
  const observed = observe(state, yield* Clock.currentTimeMillis)
  const next = Result.flatMap(granted, (token) =>
    Result.map(afterGrant(state.memory, token, observed), (memory) => ({ memory, token }))
  )
  if (Result.isFailure(next)) {
    yield* countOne(renewalCounter("failed"))
    return yield* failed(state, "renewing", "token is not renewed", next.failure)
  }
  const { memory, token } = next.success
  state.memory = memory
  yield* countOne(renewalCounter("succeeded"))
  const { until } = token.claims?.validity ?? {}
  yield* logInfo("token renewed", {
    cluster: member().name,
    until: until === undefined ? "never" : momentText(until)
  })
})

/** Makes the next credentials. The next look uses them. */
const make = Effect.fnUntraced(function* (state: State, auth: MadeAuth): Effect.fn.Return<void> {
  const { connection, logs, makeCredentials, share } = state
  const { certificateAuthority, name, server } = state.member()
  const { failures, last } = state.memory.making
  if (failures === 0) logs.making.reset()
  const begunAt = yield* Clock.currentTimeMillis
  const isRefused = last?.isRefused === true
  const made = yield* Effect.result(makeCredentials({ name, server, certificateAuthority, auth, isRefused }))
  const endedAt = yield* Clock.currentTimeMillis
  state.memory = afterMaking(state.memory, { auth, begunAt, endedAt, made, share })
  yield* countOne(renewalCounter(Result.isSuccess(made) ? "succeeded" : "failed"))
  if (Result.isSuccess(made)) return
  const problem = made.failure
  connection.events.happened(name, credentialsFailedEvent(name, problem))
  const none = auth._tag === "ExecPlugin" ? "its plugin gives no credentials" : "no token can be made"
  yield* logs.making.tell(problem, logWarning(none, { cluster: name, problem }))
})

const perform = (state: State, action: CredentialAction): Effect.Effect<void> => {
  const { connection, engaged, member, secret, turn } = state
  const cluster = member().name
  switch (action._tag) {
    case "ReportSpoilt": {
      const { problem } = action
      const line = "new credentials are unusable, the last ones stay in use"
      return report(state, line, (name) => credentialsFailedEvent(name, problem), problem)
    }
    case "ReportOlder":
      return Effect.andThen(logInfo("token in the Secret is ignored, a renewed one is newer", { cluster }), () =>
        Effect.sync(() => connection.events.happened(cluster, tokenIgnoredEvent(cluster, secret)))
      )
    case "ReportRefused":
      return logWarning("token is refused, another one is tried", { cluster })
    case "ReportEnd": {
      const { clause } = action
      const line = "credentials end and are not renewed"
      return report(state, line, (name) => credentialsEndEvent(name, clause), clause)
    }
    case "Use":
      return useCredentials(state, action.credentials)
    case "Disengage":
      state.engaged = undefined
      state.memory = afterUse(state.memory, Result.fail(action.why))
      return disengage(connection, action.why)
    case "Keep":
      return keep(state, action.token)
    case "Renew":
      return engaged === undefined ? Effect.void : Effect.andThen(turn, renew(state, action.renewal, engaged))
    case "Make":
      return Effect.andThen(turn, make(state, action.auth))
  }
}

/** Looks, and does what is due; if nothing is, waits for a change of the Secrets or for the next time. */
const step = Effect.fnUntraced(function* (state: State): Effect.fn.Return<void> {
  const now = yield* Clock.currentTimeMillis
  const { actions, memory, wakeAt } = credentialPlan(state.memory, observe(state, now))
  state.memory = memory
  state.connection.ending = memory.ending
  if (actions.length > 0)
    return yield* Effect.forEach(actions, (action) => Effect.suspend(() => perform(state, action)), { discard: true })
  const changed = Effect.map(Queue.take(state.changes), () => {
    state.isKnown = true
  })
  yield* wakeAt === undefined ? changed : Effect.timeoutOption(changed, Math.max(0, wakeAt - now))
})

export const followCredentials = (followed: FollowedMember): Effect.Effect<never> =>
  Effect.flatMap(Clock.currentTimeMillis, (now) => {
    const state: State = {
      ...followed,
      memory: newMemory(followed.share, now),
      engaged: undefined,
      isKnown: false,
      logs: { renewing: new LogOnce(), keeping: new LogOnce(), making: new LogOnce() }
    }
    const { connection, member, secret } = followed
    connection.credentials = () => credentialState(state)
    connection.unauthorized = (askedAt) => {
      const { auth, name } = member()
      const { memory } = state
      state.memory = afterRefusal(memory, auth)
      if (state.memory !== memory) Queue.offerUnsafe(state.changes, undefined)
      return whyUnauthorized(state.memory, { auth, name, secret }, askedAt)
    }
    return Effect.forever(untilDone(step(state), "credentials of a cluster could not be followed"))
  })
