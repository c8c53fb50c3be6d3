/**
 * Follows the credentials of one member. Engages the member when its Secret holds credentials, and disengages it while
 * it holds none; other credentials of an engaged member cost it neither watches nor links. Renews a token before it
 * ends, uses the newest, and tries another one when the member refuses it. A cluster that is known by an identity in a
 * cloud, or by a plugin, has no Secret: its credentials are made here.
 *
 * Not here: the decisions (domain/fleet/credentials), the requests (member-token.ts), and making credentials
 * (made-credentials.ts).
 */

import { Clock, Effect, Queue, Result } from "effect"
import { credentialsEndEvent, credentialsFailedEvent, tokenIgnoredEvent } from "../../domain/events/fleet-events.ts"
import type { MemberConfiguration } from "../../domain/fleet/configuration.ts"
import { kubeconfigTitle, type MadeAuth } from "../../domain/fleet/credentials/cluster-auth.ts"
import { endingClause, endStep, invalidClause, nextEndStep } from "../../domain/fleet/credentials/credential-end.ts"
import {
  firstRenewal,
  longestRenewalPause,
  nextTry,
  renewalPause,
  tokenRenewal,
  type TokenRenewal
} from "../../domain/fleet/credentials/token-renewal.ts"
import { momentText } from "../../domain/fleet/credentials/validity.ts"
import type { ClusterConnector, MemberAccess, MemberCredentials } from "../../ports/cluster-connector.ts"
import type { MakeCredentials } from "../../ports/credential-maker.ts"
import { LogOnce } from "../kernel/log-once.ts"
import { logInfo, logWarning } from "../kernel/log.ts"
import { counter, countOne } from "../kernel/metrics.ts"
import { untilDone } from "../kernel/until-done.ts"
import { type ClusterConnection, type CredentialState, disengage, engage } from "./cluster-connection.ts"
import {
  forgetOtherWay,
  lastMade,
  madeAuth,
  makeAnew,
  type MakingState,
  nextMaking,
  noteMadeRefused,
  nothingMade,
  whyMadeRefused
} from "./made-credentials.ts"
import {
  holdsPair,
  isRenewed,
  isSameToken,
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
  readonly makeCredentials: MakeCredentials
  /** The member as it is configured now. */
  readonly member: () => MemberConfiguration
  /** Namespace of the Secrets, and of this operator. */
  readonly namespace: string
  /** Tells that a Secret has changed, or that both are known. */
  readonly changes: Queue.Queue<void>
  /** From 0 up to 1: this member's place among the members that are renewed in the same hour. */
  readonly share: number
  /** Waits for this member's turn among all whose credentials are due. */
  readonly turn: Effect.Effect<void>
  /** Engages the member; nothing for a connection that watches it. */
  readonly engage?: typeof engage | undefined
  /** Whether this process gets new tokens and keeps them. Otherwise another process does, and this one reads them. */
  readonly renews?: boolean | undefined
}

/** Tries of one thing, with growing pauses after failures. */
interface Tries {
  readonly log: LogOnce
  /** Failures in a row. */
  failures: number
  /** When the next try may be, epoch ms. */
  notBefore: number
}

interface State extends FollowedMember {
  readonly renewing: Tries
  readonly keeping: Tries
  /** Of refused tokens. */
  readonly log: LogOnce
  /** Of pairs and tokens that cannot be used in place of good ones. */
  readonly toldSpoilt: LogOnce
  /** Of the steps towards the end of credentials. */
  readonly toldEnd: LogOnce
  readonly making: MakingState
  current: Result.Result<MemberCredentials, string> | undefined
  engaged: MemberAccess | undefined
  tokens: NewestCredentials["tokens"]
  /** The last token that this process got from the member or found kept, and whether its Secret holds it. */
  granted: { readonly token: MemberToken; readonly isKept: boolean } | undefined
  /** Tokens whose bearer the member did not know; none again when it has refused all. */
  refused: ReadonlyArray<MemberToken>
  /** The last token of the user's Secret with which the member has answered. */
  good: MemberToken | undefined
  /** Since when the token of the user's Secret is the one in `tokens`, epoch ms. */
  firstSince: number
}

const renewalCounter = (outcome: "succeeded" | "failed") => counter("braid_credential_renewals_total", { outcome })

const authWords = {
  BearerToken: "bearerToken",
  Eks: "eks",
  Aks: "aks",
  Mtls: "mtls",
  ExecPlugin: "execPlugin",
  Kubeconfig: "kubeconfig"
} as const

/** The credentials as metrics tell of them. */
const credentialState = ({ connection, making, member, renewing, tokens }: State): CredentialState => {
  const auth = authWords[member().auth._tag]
  if (madeAuth(member()) === undefined)
    return { auth, until: (tokens?.used.claims ?? connection.ending)?.validity.until, failures: renewing.failures }
  const until = making.last?.until
  return { auth, until: until === Infinity ? undefined : until, failures: making.failures }
}

const newTries = (notBefore: number): Tries => ({ log: new LogOnce(), failures: 0, notBefore })

const succeeded = (tries: Tries): void => {
  tries.failures = 0
  tries.notBefore = 0
  tries.log.reset()
}

/** Failed renewals of a token say nothing of another one that its user has put in its place, or of a certificate. */
const forgetFailures = ({ renewing, tokens }: State, before: State["tokens"]): void => {
  if (before === undefined || (tokens !== undefined && isSameToken(before.first, tokens.first))) return
  succeeded(renewing)
}

/** Notes that the token of the user's Secret is a good one, if the member has answered since it came. */
const noteGood = (state: State): void => {
  const { connection, firstSince, tokens } = state
  const known = connection.state
  if (tokens !== undefined && known._tag === "Connected" && known.lastCheck.askedAt > firstSince)
    state.good = tokens.first
}

/** Remembers a kept token that is used, as its Secret may be deleted; a Secret that is gone is to be made again. */
const rememberKept = (state: State): void => {
  const { granted, refreshed, secretOf, tokens } = state
  if (tokens === undefined || isSameToken(tokens.first, tokens.used)) return
  if (granted === undefined) state.granted = { token: tokens.used, isKept: true }
  else if (isSameToken(granted.token, tokens.used) && secretOf(refreshed) === undefined)
    state.granted = { ...granted, isKept: false }
}

/** Tells of another token in the user's Secret that is not used: Helm writes the first one back with each upgrade. */
const tellOfOlder = ({ connection, member, secret, tokens }: State, before: State["tokens"]): Effect.Effect<void> => {
  const isNews = tokens !== undefined && before !== undefined && !isSameToken(before.first, tokens.first)
  if (!isNews || isSameToken(tokens.first, tokens.used)) return Effect.void
  const cluster = member().name
  return Effect.andThen(logInfo("token in the Secret is ignored, a renewed one is newer", { cluster }), () =>
    Effect.sync(() => connection.events.happened(cluster, tokenIgnoredEvent(cluster, secret)))
  )
}

/** The client certificate in use, if the Secret holds a pair in its place that cannot be used: by a slip, that is. */
const lastGood = ({ current, engaged, member, secret, secretOf }: State): State["current"] => {
  const isCertificate =
    current !== undefined && Result.isSuccess(current) && current.success._tag === "ClientCertificate"
  const isKept = isCertificate && engaged !== undefined && member().auth._tag === "Mtls" && holdsPair(secretOf(secret))
  return isKept ? current : undefined
}

const tellOfSpoilt = ({ connection, member, toldSpoilt }: State, problem: string): Effect.Effect<void> => {
  const cluster = member().name
  const line = logWarning("new credentials are unusable, the last ones stay in use", { cluster, problem })
  const event = Effect.sync(() => connection.events.happened(cluster, credentialsFailedEvent(cluster, problem)))
  return toldSpoilt.tell(problem, Effect.andThen(line, event))
}

/** The credentials to use now, or the reason why there are none; nothing while that is not known. */
const find = (state: State): Effect.Effect<Result.Result<MemberCredentials, string> | undefined> =>
  Effect.gen(function* () {
    const { granted, making, member, refused, tokens } = state
    const auth = madeAuth(member())
    forgetOtherWay(making, auth)
    noteGood(state)
    if (auth !== undefined) {
      state.tokens = undefined
      state.good = undefined
      forgetFailures(state, tokens)
      state.connection.ending = undefined
      return lastMade(making)
    }
    const now = yield* Clock.currentTimeMillis
    const newest = newestCredentials(member(), state, { granted: granted?.token, refused, good: state.good }, now)
    if (Result.isFailure(newest)) {
      const kept = lastGood(state)
      if (kept !== undefined) return yield* Effect.as(tellOfSpoilt(state, newest.failure), kept)
    } else if (newest.success.spoilt === undefined) state.toldSpoilt.reset()
    else yield* tellOfSpoilt(state, newest.success.spoilt)
    state.tokens = Result.getOrUndefined(newest)?.tokens
    if (state.tokens === undefined) state.good = undefined
    else if (tokens === undefined || !isSameToken(tokens.first, state.tokens.first)) state.firstSince = now
    state.connection.ending = Result.getOrUndefined(newest)?.ending
    forgetFailures(state, tokens)
    rememberKept(state)
    yield* tellOfOlder(state, tokens)
    return Result.map(newest, ({ credentials }) => credentials)
  })

const apply = (state: State): Effect.Effect<void> =>
  Effect.gen(function* () {
    const { connection, connector, current, engaged, member, refused, tokens } = state
    const found = yield* find(state)
    if (found === undefined || (current !== undefined && sameCredentials(current, found))) return
    state.current = found
    if (Result.isFailure(found)) {
      state.engaged = undefined
      return yield* disengage(connection, found.failure)
    }
    const credentials = found.success
    if (engaged !== undefined) {
      if (refused.some((token) => tokens !== undefined && isSameToken(token, tokens.used)))
        yield* state.log.tell(
          "refused",
          logWarning("token is refused, another one is tried", { cluster: member().name })
        )
      connection.isReauthenticated = true
      return engaged.reauthenticate(credentials)
    }
    const connect = Effect.tap(connector.member(member(), credentials), (access) =>
      Effect.sync(() => (state.engaged = access))
    )
    return yield* (state.engage ?? engage)(connection, connect)
  })

/** Tells once at each step that credentials which nobody renews come nearer to their end. */
const tellOfEnd = ({ connection, member, renews, toldEnd }: State): Effect.Effect<void> =>
  Effect.flatMap(Clock.currentTimeMillis, (now) => {
    const { ending, events } = connection
    const clause = ending === undefined ? undefined : endingClause(ending, now)
    if (renews === false || ending === undefined || clause === undefined) return Effect.sync(toldEnd.reset)
    const cluster = member().name
    const line = Effect.andThen(
      logWarning("credentials end, and nobody renews them", { cluster, problem: clause }),
      () => Effect.sync(() => events.happened(cluster, credentialsEndEvent(cluster, clause)))
    )
    return toldEnd.tell(`${ending.validity.until} ${endStep(ending.validity, now)}`, line)
  })

/** Says of a member that does not know the operator why that is, if its credentials have ended or are not valid yet. */
const whyUnauthorized = ({ connection, making, member, secret, tokens }: State, now: number): string | undefined => {
  if (madeAuth(member()) !== undefined) return whyMadeRefused(making, member().name, now)
  const { ending } = connection
  if (tokens === undefined) return ending === undefined ? undefined : invalidClause(ending, now)
  const { claims } = tokens.used
  const until = claims?.validity.until
  if (until === undefined || until > now) return undefined
  const { auth } = member()
  const place = auth._tag === "Kubeconfig" ? kubeconfigTitle(auth.place) : `key bearerToken of Secret ${secret}`
  const { name, namespace } = claims?.account ?? { name: "mirrord-operator-envoy", namespace: "<namespace>" }
  return (
    `the token of this cluster ended at ${momentText(until)}; run \`kubectl create token ${name} -n ${namespace} ` +
    `--duration 24h\` there, and write the result to ${place} beside the operator`
  )
}

/** Notes that the member does not know the used token: another one that has not ended is tried, if there is any. */
const noteRefusal = (state: State): void => {
  if (madeAuth(state.member()) !== undefined) {
    noteMadeRefused(state.making)
    return void Queue.offerUnsafe(state.changes, undefined)
  }
  const used = state.tokens?.used
  if (used === undefined || (used.isRefused === true && state.refused.length === 1)) return
  // All have been refused: from the newest on again.
  state.refused = used.isRefused === true ? [used] : [...state.refused, used]
  Queue.offerUnsafe(state.changes, undefined)
}

/** A failed try: the next one comes after a pause, and a line of the log says why. */
const failed = (
  { member, share, tokens }: State,
  tries: Tries,
  message: string,
  problem: string
): Effect.Effect<void> =>
  Effect.flatMap(Clock.currentTimeMillis, (now) => {
    const longest = tokens === undefined ? undefined : longestRenewalPause(tokens.used, now)
    tries.notBefore = now + renewalPause(tries.failures++, share, longest)
    return tries.log.tell(problem, logWarning(message, { cluster: member().name, problem }))
  })

/** Writes the last granted token into its Secret. */
const keep = (state: State, token: MemberToken): Effect.Effect<void> => {
  const { connector, keeping, namespace, refreshed: name, secretOf } = state
  return keepToken({ own: connector.own.api, namespace, name, known: secretOf(name) }, token).pipe(
    Effect.matchEffect({
      onSuccess: () =>
        Effect.sync(() => {
          state.granted = { token, isKept: true }
          succeeded(keeping)
        }),
      onFailure: ({ detail }) => failed(state, keeping, "renewed token is not kept", detail)
    })
  )
}

type DueRenewal = Extract<TokenRenewal, { readonly _tag: "At" }>

const renew = (state: State, renewal: DueRenewal, access: MemberAccess): Effect.Effect<void> =>
  Effect.gen(function* () {
    const { connector, granted: before, member, renewing } = state
    const notRenewed = (problem: string) =>
      Effect.andThen(countOne(renewalCounter("failed")), failed(state, renewing, "token is not renewed", problem))
    const granted = yield* Effect.result(grantToken({ connector, member: member(), access }, renewal))
    if (Result.isFailure(granted)) return yield* notRenewed(granted.failure)
    const token = granted.success
    state.granted = { token, isKept: false }
    yield* apply(state)
    if (state.tokens === undefined || !isSameToken(state.tokens.used, token)) {
      state.granted = before
      return yield* notRenewed("the member's new token cannot stand in for that of its Secret, or is older")
    }
    succeeded(renewing)
    yield* countOne(renewalCounter("succeeded"))
    state.log.reset()
    const { until } = token.claims?.validity ?? {}
    yield* logInfo("token renewed", {
      cluster: member().name,
      until: until === undefined ? "never" : momentText(until)
    })
    yield* keep(state, token)
  })

/** Makes the next credentials, and uses them. */
const makeNext = (state: State, auth: MadeAuth): Effect.Effect<void> => {
  const { connection, log, making, member, share } = state
  const cluster = member().name
  const none = auth._tag === "ExecPlugin" ? "its plugin gives no credentials" : "no token can be made"
  return makeAnew(making, member(), auth, share).pipe(
    Effect.matchEffect({
      onSuccess: () => Effect.andThen(countOne(renewalCounter("succeeded")), Effect.sync(log.reset)),
      onFailure: (problem) => {
        connection.events.happened(cluster, credentialsFailedEvent(cluster, problem))
        const told = log.tell(problem, logWarning(none, { cluster, problem }))
        return Effect.andThen(countOne(renewalCounter("failed")), told)
      }
    }),
    Effect.andThen(apply(state))
  )
}

const noEnd = { from: undefined, until: undefined }

/** The longest wait for something that comes later, ms: a timer waits for 24 days at most. */
const longestWait = 86_400_000

/** Something to do without a change of the Secrets. */
interface Turn {
  /** Epoch ms. */
  readonly at: number
  readonly act: Effect.Effect<void>
}

/** The next turn; nothing if there is nothing to do. */
const nextTurn = (state: State, now: number): Turn | undefined => {
  const { connection, engaged, granted, keeping, making, member, renewing, share, tokens, turn } = state
  const auth = madeAuth(member())
  if (auth !== undefined) {
    const at = nextMaking(making, auth, share, now)
    return at - now > longestWait
      ? { at: now + longestWait, act: Effect.void }
      : { at, act: Effect.andThen(turn, makeNext(state, auth)) }
  }
  if (engaged === undefined || state.renews === false) return undefined
  const turns: Array<Turn> = []
  const told = nextEndStep(connection.ending?.validity ?? noEnd, now)
  if (told !== undefined) turns.push({ at: Math.min(told, now + longestWait), act: tellOfEnd(state) })
  if (tokens === undefined) return turns[0]
  if (granted?.isKept === false)
    turns.push({ at: nextTry(now, keeping.notBefore, now), act: keep(state, granted.token) })
  const renewal = tokenRenewal(tokens.used, tokens.first, share, now)
  if (renewal._tag === "At" && isRenewed(member()))
    turns.push({
      at: nextTry(renewal.at, renewing.notBefore, now),
      act: Effect.andThen(turn, renew(state, renewal, engaged))
    })
  return turns.toSorted((one, other) => one.at - other.at)[0]
}

/** Waits for a change of the Secrets, or for the next turn, and does what it asks for. */
const step = (state: State): Effect.Effect<void> =>
  Effect.flatMap(Clock.currentTimeMillis, (now) => {
    const turn = nextTurn(state, now)
    const changed = Effect.as(Queue.take(state.changes), Effect.andThen(apply(state), tellOfEnd(state)))
    return Effect.flatten(
      turn === undefined
        ? changed
        : Effect.timeoutOrElse(changed, {
            duration: Math.max(0, turn.at - now),
            orElse: () => Effect.succeed(turn.act)
          })
    )
  })

export const followCredentials = (followed: FollowedMember): Effect.Effect<never> =>
  Effect.flatMap(Clock.currentTimeMillis, (now) => {
    const state: State = {
      ...followed,
      renewing: newTries(firstRenewal(followed.share, now)),
      keeping: newTries(now),
      log: new LogOnce(),
      toldSpoilt: new LogOnce(),
      toldEnd: new LogOnce(),
      making: nothingMade(followed.makeCredentials),
      current: undefined,
      engaged: undefined,
      tokens: undefined,
      granted: undefined,
      refused: [],
      good: undefined,
      firstSince: now
    }
    followed.connection.credentials = () => credentialState(state)
    followed.connection.unauthorized = (askedAt) => {
      noteRefusal(state)
      return whyUnauthorized(state, askedAt)
    }
    return Effect.forever(untilDone(step(state), "credentials of a cluster could not be followed"))
  })
