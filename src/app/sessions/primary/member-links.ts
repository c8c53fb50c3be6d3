/**
 * Links from a user's connection to the members of its session. The connection waits for the default cluster's link;
 * other members join when they can. The relay carries the messages.
 */

import { Data, Effect, Option, Result, Schedule, type Scope } from "effect"
import { quotation } from "../../../domain/clean-text.ts"
import { clusterName, type ClusterName } from "../../../domain/fleet/cluster-name.ts"
import { type MemberName, memberName } from "../../../domain/relay/member.ts"
import type { MirrordMultiClusterSession } from "../../../domain/resources/mirrord-multi-cluster-session.ts"
import { connectQuery, forMember } from "../../../domain/sessions/connect-request.ts"
import { connectVerdict } from "../../../domain/sessions/connect-verdict.ts"
import type { KubeStatus } from "../../../domain/sessions/failure-status.ts"
import { traceparentAnnotation } from "../../../domain/sessions/names.ts"
import type { FrameChannel } from "../../../ports/frame-channel.ts"
import type { LinkRefused } from "../../../ports/member-link.ts"
import { ApiError, internalError, reconnectNotPossible } from "../../api/status.ts"
import { logInfo, logWarning } from "../../kernel/log.ts"
import { currentTraceparent, traced, tracedBeside } from "../../kernel/tracing.ts"
import type { Admission } from "../admission.ts"
import type { PrimarySessionsOptions, UserConnection } from "./user-connection.ts"

/** How long the first links to members other than the default may take, in ms; a slower member joins later. */
const linkBound = 5_000
/** The parts of the operator, and of a connection, that links need. */
type LinkOptions = Pick<PrimarySessionsOptions, "fleet" | "notifier"> & {
  readonly manager: Pick<PrimarySessionsOptions["manager"], "parent">
}
type LinkingConnection = Pick<UserConnection, "id" | "leadsTo" | "name" | "params">

/** Pause between two tries to link to a cluster, in ms. */
const relinkEvery = 500
/** How often an API server that forbids a link is asked again; in all that takes less time than {@link linkBound}. */
const forbiddenTries = 8

/** Status codes of answers that stay the same however often a member is asked, with their reasons. */
const finalReasons: ReadonlyMap<number | undefined, string> = new Map([
  [400, "BadRequest"],
  [403, "Forbidden"],
  [404, "NotFound"]
])

/** The reason why a member is not linked. `code` is absent when the member did not answer, or was not asked. */
type LinkFailure = LinkRefused | { readonly message: string; readonly code?: number }

/** The link to the default cluster failed, but may succeed in a moment. */
class NotLinkedYet extends Data.TaggedError("NotLinkedYet") {}

export const asApiError = ({ code, message, reason }: KubeStatus): ApiError => new ApiError({ code, reason, message })

/** Whether a client that waits for its session is let in. */
export const admission = (
  name: string,
  parent: MirrordMultiClusterSession | undefined
): Admission<MirrordMultiClusterSession, ApiError> => {
  const ended = () => Result.fail(reconnectNotPossible(`Session ${name} was ended; start a new one.`))
  if (parent === undefined) return ended()
  const verdict = connectVerdict(parent)
  switch (verdict._tag) {
    case "Create":
      return ended()
    case "Hold":
      return undefined
    case "Attach":
      return Result.succeed(parent)
    case "Refuse":
      return Result.fail(asApiError(verdict.status))
  }
}

/** Closes a channel with the scope: a client that leaves before its upgrade is never served, so nothing else would. */
const closedAtEnd = (channel: FrameChannel): Effect.Effect<void, never, Scope.Scope> =>
  Effect.addFinalizer(() => Effect.sync(channel.close))

export const isReady = (parent: MirrordMultiClusterSession | undefined, cluster: string): boolean =>
  parent?.status?.clusterSessions?.[cluster]?.ready === true

/**
 * Whether an API server has refused a link by itself; operators say 403 in other words. In its first second an API
 * server forbids everything, until it knows its roles.
 */
const isByApiServer = ({ code, message }: LinkFailure): boolean =>
  code === 403 && message.includes(' is forbidden: User "')

/** Links to one member, with the session as it is now. */
export const linkMember = (
  { fleet }: Pick<LinkOptions, "fleet">,
  { id, leadsTo, params }: Omit<LinkingConnection, "name">,
  parent: MirrordMultiClusterSession,
  cluster: ClusterName
): Effect.Effect<FrameChannel, LinkFailure> =>
  Effect.suspend((): Effect.Effect<FrameChannel, LinkFailure> => {
    const known = fleet.clusters.get(cluster)
    const access = known?.access()
    if (known === undefined || access === undefined || !isReady(parent, cluster))
      return Effect.fail({ message: `cluster ${cluster} takes no part in the session now` })
    const health = known.health()?.health
    const link = Effect.flatMap(currentTraceparent, (traceparent) =>
      access.link({
        cluster,
        sessionId: id,
        namespace: parent.spec.namespace,
        target: parent.spec.targetAlias,
        // The session keeps its default cluster, and its branches are there, whatever the configuration says now.
        query: connectQuery(forMember(params, { isDefault: cluster === parent.spec.defaultCluster })),
        parametersInHeader: health?._tag === "Connected" && health.parametersInHeader,
        traceparent
      })
    )
    return link.pipe(
      Effect.retry({ while: isByApiServer, times: forbiddenTries, schedule: Schedule.spaced(relinkEvery) }),
      Effect.tap((channel) => Effect.sync(() => leadsTo.set(channel, known))),
      traced({
        name: "link open",
        kind: "client",
        within: parent.metadata.annotations?.[traceparentAnnotation],
        attributes: { "braid.session": parent.metadata.name, "k8s.cluster.name": cluster }
      })
    )
  })

/**
 * Whether a member says that a session cannot go on although the child is there: a branch that it used is gone. Other
 * conflicts may pass.
 */
const cannotGoOn = ({ code, message }: LinkFailure): boolean =>
  code === 409 && /The session cannot go on: /u.test(message)

/** Fails for good if another try is useless; otherwise waits until the next try. */
const afterFailure = (name: string, failure: LinkFailure): Effect.Effect<never, ApiError | NotLinkedYet> => {
  const { code, message } = failure
  const reason = finalReasons.get(code)
  if (cannotGoOn(failure)) return Effect.fail(reconnectNotPossible(message))
  if (code !== undefined && reason !== undefined) return Effect.fail(new ApiError({ code, reason, message }))
  return logInfo("the default cluster is not linked yet", { session: name, problem: message }).pipe(
    Effect.andThen(Effect.sleep(relinkEvery)),
    Effect.andThen(Effect.fail(new NotLinkedYet()))
  )
}

/** Waits until the session lets clients in, and traces its start where it has not started yet. */
const untilAdmitted = (
  { manager, notifier }: LinkOptions,
  name: string
): Effect.Effect<Result.Result<MirrordMultiClusterSession, ApiError>> =>
  Effect.suspend(() => {
    const admitted = notifier.until(name, () => admission(name, manager.parent(name)))
    if (admission(name, manager.parent(name)) !== undefined) return admitted
    const memberStart = (cluster: string) =>
      traced({ name: "member start", attributes: { "braid.session": name, "k8s.cluster.name": cluster } })(
        notifier.until(name, () => (isReady(manager.parent(name), cluster) ? { ready: true } : undefined))
      )
    const members = manager.parent(name)?.spec.clusters ?? []
    return admitted.pipe(
      tracedBeside(Effect.forEach(members, memberStart, { concurrency: "unbounded", discard: true })),
      traced({ name: "session start", attributes: { "braid.session": name } })
    )
  })

/** Links to the default cluster for as long as the session stands; each try reads the parent again. */
const linkDefault = (
  options: LinkOptions,
  connection: LinkingConnection
): Effect.Effect<readonly [MirrordMultiClusterSession, FrameChannel], ApiError> =>
  Effect.gen(function* () {
    const { name } = connection
    const parent = yield* Effect.flatMap(untilAdmitted(options, name), Effect.fromResult)
    const { defaultCluster } = parent.spec
    if (defaultCluster === undefined) return yield* internalError("The session has no default cluster.")
    const channel = yield* linkMember(options, connection, parent, clusterName(defaultCluster)).pipe(
      Effect.catch((failure) => afterFailure(name, failure))
    )
    return [parent, channel] as const
  }).pipe(Effect.retry({ while: (error): error is NotLinkedYet => error._tag === "NotLinkedYet" }))

/** Links to members other than the default, and sentences for the user about members that refuse the session. */
interface OtherLinks {
  readonly links: ReadonlyArray<readonly [MemberName, FrameChannel]>
  readonly refusals: ReadonlyArray<string>
}

/** The sentence for a member that would give the same answer again. */
export const refusalOf = (cluster: ClusterName, { code, message }: LinkFailure): string | undefined =>
  finalReasons.has(code) ? `cluster ${cluster} takes no part in the session: ${quotation(message)}` : undefined

/** Links to the ready members other than the default; a member that does not answer in time joins later. */
const linkOthers = (
  options: LinkOptions,
  connection: LinkingConnection,
  parent: MirrordMultiClusterSession
): Effect.Effect<OtherLinks, never, Scope.Scope> => {
  const others = parent.spec.clusters
    .map(clusterName)
    .filter((cluster) => cluster !== parent.spec.defaultCluster && isReady(parent, cluster))
  const linkOne = (cluster: ClusterName): Effect.Effect<OtherLinks, never, Scope.Scope> =>
    linkMember(options, connection, parent, cluster).pipe(
      Effect.tap(closedAtEnd),
      Effect.timeoutOption(linkBound),
      Effect.map((channel) => ({
        links: Option.isSome(channel) ? [[memberName(cluster), channel.value] as const] : [],
        refusals: []
      })),
      Effect.catch((failure) =>
        Effect.as(logWarning("member not linked", { session: connection.name, cluster, problem: failure.message }), {
          links: [],
          refusals: [refusalOf(cluster, failure)].filter((refusal) => refusal !== undefined)
        })
      )
    )
  return Effect.map(Effect.forEach(others, linkOne, { concurrency: "unbounded" }), (linked) => ({
    links: linked.flatMap(({ links }) => links),
    refusals: linked.flatMap(({ refusals }) => refusals)
  }))
}

/** The first links of a user's connection, and the session as it was when the default cluster was linked. */
interface FirstLinks extends OtherLinks {
  readonly parent: MirrordMultiClusterSession
  readonly toDefault: FrameChannel
}

/** Links to all members side by side as soon as the session lets clients in. They close with the scope. */
export const linkMembers = (
  options: LinkOptions,
  connection: LinkingConnection
): Effect.Effect<FirstLinks, ApiError, Scope.Scope> =>
  Effect.gen(function* () {
    const admitted = yield* Effect.flatMap(untilAdmitted(options, connection.name), Effect.fromResult)
    const [[parent, toDefault], others] = yield* Effect.all(
      [
        Effect.tap(linkDefault(options, connection), ([, channel]) => closedAtEnd(channel)),
        linkOthers(options, connection, admitted)
      ],
      { concurrency: "unbounded" }
    )
    return { ...others, parent, toDefault }
  })
