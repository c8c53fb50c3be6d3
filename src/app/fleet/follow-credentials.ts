/**
 * Follows the credentials of one member. Engages the member when its Secret holds credentials, and disengages it while
 * it holds none; other credentials of an engaged member cost it neither watches nor links. Renews a token before it
 * ends, and uses the newest.
 *
 * Not here: the decisions (domain/credentials/token-renewal.ts), and the requests (member-token.ts).
 */

import { Clock, Effect, Option, Queue, Result } from "effect"
import { renewalPause, tokenRenewal, type TokenRenewal } from "../../domain/credentials/token-renewal.ts"
import { momentText } from "../../domain/credentials/validity.ts"
import type { MemberConfiguration } from "../../domain/fleet/configuration.ts"
import type { ClusterConnector, MemberAccess, MemberCredentials } from "../../ports/cluster-connector.ts"
import type { KubeApi } from "../../ports/kube-api.ts"
import { LogOnce } from "../kernel/log-once.ts"
import { logInfo, logWarning } from "../kernel/log.ts"
import { type ClusterConnection, disengage, engage } from "./cluster-connection.ts"
import {
  type MemberSecrets,
  type MemberToken,
  type NewestCredentials,
  newestCredentials,
  sameCredentials
} from "./member-credentials.ts"
import { grantToken, keepToken } from "./member-token.ts"

/** A member whose credentials are followed. */
export interface FollowedMember extends MemberSecrets {
  readonly connection: ClusterConnection
  readonly connector: ClusterConnector["Service"]
  readonly member: MemberConfiguration
  /** Namespace of the Secrets, and of this operator. */
  readonly namespace: string
  /** Tells that a Secret has changed, or that both are known. */
  readonly changes: Queue.Queue<void>
  /** From 0 up to 1: this member's place among the members that are renewed in the same hour. */
  readonly share: number
}

interface State extends FollowedMember {
  readonly log: LogOnce
  current: Result.Result<MemberCredentials, string> | undefined
  engaged: MemberAccess | undefined
  tokens: NewestCredentials["tokens"]
  /** The last token that this process got from the member, and whether its Secret holds it. */
  granted: { readonly token: MemberToken; readonly isKept: boolean } | undefined
  /** Failed renewals in a row, and when the next try is due, epoch ms. */
  failures: number
  tryAgainAt: number
}

const apply = (state: State): Effect.Effect<void> =>
  Effect.gen(function* () {
    const { connection, connector, current, engaged, member } = state
    const newest = newestCredentials(member, state, state.granted?.token, yield* Clock.currentTimeMillis)
    state.tokens = Result.getOrUndefined(newest)?.tokens
    const found = Result.map(newest, ({ credentials }) => credentials)
    if (current !== undefined && sameCredentials(current, found)) return
    state.current = found
    if (Result.isFailure(found)) {
      state.engaged = undefined
      return yield* disengage(connection, found.failure)
    }
    const credentials = found.success
    if (engaged !== undefined) return engaged.reauthenticate(credentials)
    const connect = Effect.tap(connector.member(member, credentials), (access) =>
      Effect.sync(() => (state.engaged = access))
    )
    return yield* engage(connection, connect)
  })

/** Says of a member that does not know the operator why that is, if the token has ended. */
const whyUnauthorized = ({ secret, tokens }: State, now: number): string | undefined => {
  const claims = tokens?.used.claims
  const until = claims?.validity.until
  if (until === undefined || until > now) return undefined
  const { name, namespace } = claims?.account ?? { name: "mirrord-operator-envoy", namespace: "<namespace>" }
  return (
    `the token of this cluster ended at ${momentText(until)}; run \`kubectl create token ${name} -n ${namespace} ` +
    `--duration 24h\` there, and write the result to key bearerToken of Secret ${secret} beside the operator`
  )
}

const renewalOf = ({ share, tokens }: State, now: number): TokenRenewal =>
  tokens === undefined ? { _tag: "Never", why: "there is none" } : tokenRenewal(tokens.used, tokens.first, share, now)

/** Milliseconds until something is to be done without a change; nothing if there is nothing to do. */
const nextTurnIn = (state: State, now: number): number | undefined => {
  const renewal = renewalOf(state, now)
  if (renewal._tag === "Never" || state.engaged === undefined) return undefined
  const at = state.granted?.isKept === false ? now : renewal.at
  return Math.max(0, at - now, state.tryAgainAt - now)
}

/** A failed turn: the next one comes after a pause, and a line of the log says why. */
const failed = (state: State, message: string, problem: string): Effect.Effect<void> =>
  Effect.flatMap(Clock.currentTimeMillis, (now) => {
    state.tryAgainAt = now + renewalPause(state.failures++, state.share)
    return state.log.tell(problem, logWarning(message, { cluster: state.member.name, problem }))
  })

const succeeded = (state: State): void => {
  state.failures = 0
  state.log.reset()
}

/** Writes the last granted token into its Secret. */
const keep = (state: State, own: KubeApi, token: MemberToken): Effect.Effect<void> => {
  const { namespace, refreshed: name, secretOf } = state
  return keepToken({ own, namespace, name, known: secretOf(name) }, token).pipe(
    Effect.matchEffect({
      onSuccess: () =>
        Effect.sync(() => {
          state.granted = { token, isKept: true }
          succeeded(state)
        }),
      onFailure: ({ detail }) => failed(state, "renewed token is not kept", detail)
    })
  )
}

const renew = (state: State, renewal: TokenRenewal, access: MemberAccess): Effect.Effect<void> =>
  Effect.gen(function* () {
    if (renewal._tag === "Never") return
    const { connector, member } = state
    const granted = yield* Effect.result(grantToken({ connector, member, access }, renewal))
    if (Result.isFailure(granted)) return yield* failed(state, "token is not renewed", granted.failure)
    const token = granted.success
    state.granted = { token, isKept: false }
    succeeded(state)
    yield* apply(state)
    const { until } = token.claims?.validity ?? {}
    yield* logInfo("token renewed", { cluster: member.name, until: until === undefined ? "never" : momentText(until) })
    yield* keep(state, connector.own.api, token)
  })

const turn = (state: State): Effect.Effect<void> =>
  Effect.flatMap(Clock.currentTimeMillis, (now) => {
    const { connector, engaged, granted } = state
    if (granted?.isKept === false) return keep(state, connector.own.api, granted.token)
    return engaged === undefined ? Effect.void : renew(state, renewalOf(state, now), engaged)
  })

/** Waits for a change of the Secrets, or until a turn is due; the result is whether there was a change. */
const waited = (state: State): Effect.Effect<boolean> =>
  Effect.flatMap(Clock.currentTimeMillis, (now) => {
    const pause = nextTurnIn(state, now)
    const changed = Queue.take(state.changes)
    return pause === undefined
      ? Effect.as(changed, true)
      : Effect.map(Effect.timeoutOption(changed, pause), Option.isSome)
  })

export const followCredentials = (followed: FollowedMember): Effect.Effect<never> =>
  Effect.suspend(() => {
    const state: State = {
      ...followed,
      log: new LogOnce(),
      current: undefined,
      engaged: undefined,
      tokens: undefined,
      granted: undefined,
      failures: 0,
      tryAgainAt: 0
    }
    followed.connection.whyUnauthorized = (now) => whyUnauthorized(state, now)
    return Effect.forever(Effect.flatMap(waited(state), (changed) => (changed ? apply(state) : turn(state))))
  })
