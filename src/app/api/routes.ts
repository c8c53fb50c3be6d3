/**
 * Every path of the aggregated API but the upgrades, as HTTP: reads the request, asks the facade, writes the answer.
 * Decides nothing; the authenticator identifies the caller.
 */

import { IncomingMessage } from "node:http"
import * as NodeHttpServerRequest from "@effect/platform-node/NodeHttpServerRequest"
import { Cause, Clock, Context, Effect, Layer, type Scope, Stream } from "effect"
import { HttpRouter, HttpServerError, HttpServerRequest, HttpServerRespondable, HttpServerResponse } from "effect/http"
import { selectedPrimary } from "../../domain/copies/copy-order.ts"
import { clusterColumns, type ServedCluster } from "../../domain/fleet/cluster-object.ts"
import type { Caller } from "../../domain/fleet/credentials/front-proxy.ts"
import { shownHeaderText } from "../../domain/fleet/credentials/header-text.ts"
import { asObject, at } from "../../domain/json.ts"
import { queueSplitColumns, type ServedQueueSplit } from "../../domain/queues/queue-split-object.ts"
import { operatorApiRoot, operatorGroup, operatorGroupVersion } from "../../domain/resources/operator-api.ts"
import { type PrintedColumn, printedTable, wantsTable } from "../../domain/resources/printed-table.ts"
import { selectedKey } from "../../domain/sessions/session-selector.ts"
import { failingLists } from "../kernel/failing-lists.ts"
import { logError } from "../kernel/log.ts"
import type { CallerResult } from "./caller.ts"
import { apiGroup, apiResourceList } from "./discovery.ts"
import { OperatorFacade, type SessionSelection, type UsageReportName } from "./operator-facade.ts"
import { podReviewRoute } from "./pod-review-route.ts"
import { bodyText, parseJson } from "./request-body.ts"
import { type TakenByCallers, weightOf } from "./request-bounds.ts"
import { ApiError, badRequest, internalError, notFound, sentences, successBody, unauthorized } from "./status.ts"

/**
 * Identifies the caller of a request, and counts the request among the caller's; the server, which knows the front
 * proxy, provides it.
 */
export class Authenticator extends Context.Service<
  Authenticator,
  { readonly identify: (request: IncomingMessage) => CallerResult; readonly taken: TakenByCallers }
>()("braid/app/Authenticator") {}

/** The caller of a request, whose requests include this one until its answer is sent. */
const authenticated: Effect.Effect<
  Caller,
  ApiError,
  Authenticator | HttpServerRequest.HttpServerRequest | Scope.Scope
> = Effect.gen(function* () {
  const request = yield* HttpServerRequest.HttpServerRequest
  const incoming = NodeHttpServerRequest.toIncomingMessage(request)
  if (!(incoming instanceof IncomingMessage)) return yield* unauthorized("Only HTTP/1.1 is served.")
  const { identify, taken } = yield* Authenticator
  const caller = yield* Effect.fromResult(identify(incoming))
  const answered = yield* Effect.fromResult(taken.takeRequest(caller.user, weightOf(incoming)))
  yield* Effect.addFinalizer(() => Effect.sync(answered))
  return caller
})

const json = (value: object, status = 200) => HttpServerResponse.json(value, { status }).pipe(Effect.orDie)

/** Parameters of the path, which the router has decoded already. */
const parameters = Effect.map(HttpRouter.params, (all) => (name: string) => all[name] ?? "")

/**
 * POST of the new credential flow: the object comes back with its certificate and is stored nowhere (operator-api.md
 * §5.2).
 */
const createCredentials = Effect.gen(function* () {
  yield* authenticated
  const object = yield* bodyText().pipe(Effect.flatMap(parseJson))
  const csr = at(object, "spec", "csr")
  if (typeof csr !== "string") {
    return yield* badRequest("spec.csr: found nothing readable; it must be the PEM text of a certificate request.")
  }
  const certificate = yield* (yield* OperatorFacade).issueCertificate(csr)
  return yield* json({ ...asObject(object), status: { certificate } }, 201)
})

/** POST of the legacy flow: raw PEM or a JSON string in, a JSON string out (operator-api.md §5.3). */
const createCertificate = Effect.gen(function* () {
  yield* authenticated
  const text = yield* bodyText()
  const csr = text.trimStart().startsWith('"') ? yield* parseJson(text) : text
  if (typeof csr !== "string") return yield* badRequest("The body must be the PEM text of a certificate request.")
  const certificate = yield* (yield* OperatorFacade).issueCertificate(csr)
  return yield* HttpServerResponse.json(certificate, { status: 201 }).pipe(Effect.orDie)
})

const success = (message: string) => json(successBody(message))

const listSessions = Effect.gen(function* () {
  yield* authenticated
  const namespace = (yield* HttpRouter.params)["namespace"]
  const { url } = yield* HttpServerRequest.HttpServerRequest
  const selector = new URL(url, "http://operator").searchParams.get("fieldSelector")
  const key = yield* Effect.mapError(Effect.fromResult(selectedKey(selector)), badRequest)
  const items = yield* (yield* OperatorFacade).listSessions(namespace, key)
  return yield* json({ apiVersion: operatorGroupVersion, kind: "SessionList", metadata: {}, items })
})

const deleteSession = Effect.gen(function* () {
  const caller = yield* authenticated
  const parameter = yield* parameters
  const reference = parameter("id")
  yield* (yield* OperatorFacade).deleteSession(reference, caller, (yield* HttpRouter.params)["namespace"])
  return yield* success(`Session ${reference} is being stopped.`)
})

const deleteSessions = Effect.fnUntraced(function* (which: SessionSelection) {
  const caller = yield* authenticated
  const { url } = yield* HttpServerRequest.HttpServerRequest
  const asked = new URL(url, "http://operator").searchParams
  // A selector is not served, and all would be lost.
  if (["fieldSelector", "labelSelector"].some((name) => (asked.get(name) ?? "") !== ""))
    return yield* badRequest(
      "Sessions are stopped all together or one by one: leave fieldSelector and labelSelector out."
    )
  const namespace = (yield* HttpRouter.params)["namespace"]
  const count = yield* (yield* OperatorFacade).deleteSessions(which, caller, namespace)
  return yield* success(`${count} sessions are being stopped.`)
})

const describeOperator = Effect.gen(function* () {
  yield* authenticated
  return yield* json(yield* (yield* OperatorFacade).describe)
})

const listOperators = Effect.gen(function* () {
  yield* authenticated
  const item = yield* (yield* OperatorFacade).describe
  return yield* json({
    apiVersion: operatorGroupVersion,
    kind: "MirrordOperatorList",
    metadata: {},
    items: [item]
  })
})

/** The columns of a kind's table. `now`: epoch ms. */
type Columns<T> = (now: number) => ReadonlyArray<PrintedColumn<T>>

/** Objects as they are, or as the table that `kubectl get` prints. `answer`: the list of them, or the only one. */
const printed = Effect.fnUntraced(function* <T extends object>(
  columns: Columns<T>,
  objects: ReadonlyArray<T>,
  answer: object
) {
  const { headers, url } = yield* HttpServerRequest.HttpServerRequest
  if (!wantsTable(headers["accept"])) return yield* json(answer)
  const includeObject = new URL(url, "http://operator").searchParams.get("includeObject")
  return yield* json(printedTable(columns(yield* Clock.currentTimeMillis), objects, includeObject))
})

const listOf = <T extends object>(kind: string, columns: Columns<T>, items: ReadonlyArray<T>) =>
  printed(columns, items, { apiVersion: operatorGroupVersion, kind, metadata: { resourceVersion: "0" }, items })

const listClusters = Effect.gen(function* () {
  yield* authenticated
  const items = yield* (yield* OperatorFacade).listClusters
  return yield* listOf<ServedCluster>("MirrordClusterList", clusterColumns, items)
})

const getCluster = Effect.gen(function* () {
  yield* authenticated
  const cluster = yield* (yield* OperatorFacade).cluster((yield* parameters)("name"))
  return yield* printed<ServedCluster>(clusterColumns, [cluster], cluster)
})

const listQueueSplits = Effect.gen(function* () {
  yield* authenticated
  const items = yield* (yield* OperatorFacade).listQueueSplits((yield* HttpRouter.params)["namespace"])
  return yield* listOf<ServedQueueSplit>("QueueSplitList", queueSplitColumns, items)
})

const getQueueSplit = Effect.gen(function* () {
  yield* authenticated
  const parameter = yield* parameters
  const split = yield* (yield* OperatorFacade).queueSplit(parameter("namespace"), parameter("name"))
  return yield* printed<ServedQueueSplit>(queueSplitColumns, [split], split)
})

const listCopyTargets = Effect.gen(function* () {
  yield* authenticated
  const namespace = (yield* HttpRouter.params)["namespace"]
  const { url } = yield* HttpServerRequest.HttpServerRequest
  const query = new URLSearchParams(url.split("?")[1] ?? "")
  const primary = selectedPrimary(query.get("labelSelector"))
  const name = primary === undefined ? undefined : /^metadata\.name=(.+)$/u.exec(query.get("fieldSelector") ?? "")?.[1]
  const items = yield* (yield* OperatorFacade).listCopyTargets({
    namespace,
    ...(primary === undefined ? {} : { primary }),
    ...(name === undefined ? {} : { name })
  })
  // The primary's reader of lists wants a version.
  const metadata = primary === undefined ? {} : { resourceVersion: "0" }
  return yield* json({ apiVersion: operatorGroupVersion, kind: "CopyTargetList", metadata, items })
})

const getCopyTarget = Effect.gen(function* () {
  const caller = yield* authenticated
  const parameter = yield* parameters
  return yield* json(yield* (yield* OperatorFacade).copyTarget(parameter("namespace"), parameter("name"), caller))
})

const listTargets = Effect.gen(function* () {
  yield* authenticated
  const items = yield* (yield* OperatorFacade).listTargets((yield* HttpRouter.params)["namespace"])
  // The primary's reader of lists wants a version.
  return yield* json({
    apiVersion: operatorGroupVersion,
    kind: "TargetList",
    metadata: { resourceVersion: "0" },
    items
  })
})

const getTarget = Effect.gen(function* () {
  yield* authenticated
  const parameter = yield* parameters
  return yield* json(yield* (yield* OperatorFacade).target(parameter("namespace"), parameter("name")))
})

const getPortLocks = Effect.gen(function* () {
  yield* authenticated
  const parameter = yield* parameters
  return yield* json(yield* (yield* OperatorFacade).portLocks(parameter("namespace"), parameter("name")))
})

/**
 * GET of what is stolen, as a stream (operator-api.md §4.7). Without `watch` an API server ends it after a minute.
 */
const watchInterceptions = Effect.gen(function* () {
  const caller = yield* authenticated
  const { url } = yield* HttpServerRequest.HttpServerRequest
  const asked = new URL(url, "http://operator").searchParams
  if (asked.get("watch") !== "true")
    return yield* badRequest("Events are served as a stream alone: ask for them with watch=true.")
  const key = asked.get("session_key")
  const events = yield* (yield* OperatorFacade).watchInterceptions(caller, key === null || key === "" ? undefined : key)
  return HttpServerResponse.stream(Stream.encodeText(events), {
    contentType: "text/event-stream",
    headers: { "cache-control": "no-cache" }
  })
})

const shown = (header: string | undefined): string | undefined =>
  header === undefined ? undefined : shownHeaderText(header)

/** POST of a copy target (operator-api.md §9.2). The user's certificate says whose copy it becomes. */
const createCopyTarget = Effect.gen(function* () {
  const caller = yield* authenticated
  const { headers } = yield* HttpServerRequest.HttpServerRequest
  const body = yield* bodyText().pipe(Effect.flatMap(parseJson))
  const namespace = (yield* parameters)("namespace")
  const made = yield* (yield* OperatorFacade).createCopyTarget({
    caller,
    namespace,
    body,
    // Some clients send it twice, joined on the way (operator-api.md §2.2).
    certificate: headers["x-client-der"]?.split(",")[0]?.trim(),
    clientName: shown(headers["x-client-name"]),
    clientHostname: shown(headers["x-client-hostname"])
  })
  return yield* json(made, 201)
})

/** POST of values for a database branch (operator-api.md §1.8). */
const createBranchCredentials = Effect.gen(function* () {
  const caller = yield* authenticated
  const { headers } = yield* HttpServerRequest.HttpServerRequest
  const body = yield* bodyText().pipe(Effect.flatMap(parseJson))
  const taken = yield* (yield* OperatorFacade).takeCredentials({
    caller,
    body,
    clientName: shown(headers["x-client-name"]),
    clientHostname: shown(headers["x-client-hostname"])
  })
  return yield* json(taken, 201)
})

/** GET of a report on use. API servers ask for the right to the subresource `mirrordoperators/reports`. */
const usageReport = Effect.fnUntraced(function* (which: UsageReportName) {
  yield* authenticated
  const { url } = yield* HttpServerRequest.HttpServerRequest
  const { searchParams } = new URL(url, "http://operator")
  const { body, contentType } = yield* (yield* OperatorFacade).usageReport(which, searchParams)
  return typeof body === "string"
    ? HttpServerResponse.text(body, { contentType })
    : HttpServerResponse.uint8Array(body, { contentType })
})

/** A collection that cannot be read keeps no session from being served, so it is reported and is no failure. */
const ready = Effect.gen(function* () {
  const problems = yield* (yield* OperatorFacade).problems
  const { sentences: unread } = yield* failingLists
  if (problems.length > 0) return HttpServerResponse.text(sentences([...problems, ...unread]), { status: 500 })
  return HttpServerResponse.text(unread.length === 0 ? "ok" : `ok, but: ${sentences(unread)}`)
})

/** Every path of the aggregated API but the upgrades. */
export const routes = Layer.mergeAll(
  // The path of the published operator; the next is its usual name.
  HttpRouter.add("GET", "/health", HttpServerResponse.text("ok")),
  HttpRouter.add("GET", "/livez", HttpServerResponse.text("ok")),
  // Ready to receive requests: from the first moment on, and even while sessions cannot be served, because only the
  // operator can tell users why. An operator that stops accepts no connection any more.
  HttpRouter.add("GET", "/readyz/serving", HttpServerResponse.text("ok")),
  HttpRouter.add("GET", "/readyz", ready),
  podReviewRoute,
  HttpRouter.add(
    "GET",
    `/apis/${operatorGroup}`,
    Effect.andThen(authenticated, () => json(apiGroup))
  ),
  HttpRouter.add(
    "GET",
    operatorApiRoot,
    Effect.andThen(authenticated, () => json(apiResourceList))
  ),
  HttpRouter.add("GET", `${operatorApiRoot}/mirrordoperators`, listOperators),
  HttpRouter.add("GET", `${operatorApiRoot}/mirrordoperators/operator`, describeOperator),
  HttpRouter.add("POST", `${operatorApiRoot}/mirrordclusteroperatorusercredentials`, createCredentials),
  HttpRouter.add("POST", `${operatorApiRoot}/mirrordoperators/operator/certificate`, createCertificate),
  HttpRouter.add(
    "GET",
    `${operatorApiRoot}/mirrordoperators/operator/reports`,
    Effect.andThen(authenticated, () =>
      success("The reports are reports/usage, reports/usage/trends and reports/clusters.")
    )
  ),
  HttpRouter.add("GET", `${operatorApiRoot}/mirrordoperators/operator/reports/usage`, usageReport("usage")),
  HttpRouter.add("GET", `${operatorApiRoot}/mirrordoperators/operator/reports/usage/trends`, usageReport("trends")),
  HttpRouter.add("GET", `${operatorApiRoot}/mirrordoperators/operator/reports/clusters`, usageReport("clusters")),
  HttpRouter.add("GET", `${operatorApiRoot}/events`, watchInterceptions),
  HttpRouter.add("GET", `${operatorApiRoot}/sessions`, listSessions),
  HttpRouter.add("GET", `${operatorApiRoot}/namespaces/:namespace/sessions`, listSessions),
  // No id: the API server has checked the right to delete sessions of the whole cluster.
  HttpRouter.add("DELETE", `${operatorApiRoot}/sessions/inactive`, deleteSessions("Inactive")),
  HttpRouter.add("DELETE", `${operatorApiRoot}/sessions/:id`, deleteSession),
  HttpRouter.add("DELETE", `${operatorApiRoot}/namespaces/:namespace/sessions/:id`, deleteSession),
  HttpRouter.add("DELETE", `${operatorApiRoot}/sessions`, deleteSessions("All")),
  HttpRouter.add("DELETE", `${operatorApiRoot}/namespaces/:namespace/sessions`, deleteSessions("All")),
  HttpRouter.add("GET", `${operatorApiRoot}/mirrordclusters`, listClusters),
  HttpRouter.add("GET", `${operatorApiRoot}/mirrordclusters/:name`, getCluster),
  HttpRouter.add("GET", `${operatorApiRoot}/queuesplits`, listQueueSplits),
  HttpRouter.add("GET", `${operatorApiRoot}/namespaces/:namespace/queuesplits`, listQueueSplits),
  HttpRouter.add("GET", `${operatorApiRoot}/namespaces/:namespace/queuesplits/:name`, getQueueSplit),
  HttpRouter.add("GET", `${operatorApiRoot}/namespaces/:namespace/targets`, listTargets),
  HttpRouter.add("GET", `${operatorApiRoot}/targets`, listTargets),
  HttpRouter.add("GET", `${operatorApiRoot}/namespaces/:namespace/targets/:name`, getTarget),
  HttpRouter.add("GET", `${operatorApiRoot}/namespaces/:namespace/targets/:name/port-locks`, getPortLocks),
  HttpRouter.add("GET", `${operatorApiRoot}/namespaces/:namespace/copytargets`, listCopyTargets),
  HttpRouter.add("GET", `${operatorApiRoot}/copytargets`, listCopyTargets),
  HttpRouter.add("GET", `${operatorApiRoot}/namespaces/:namespace/copytargets/:name`, getCopyTarget),
  HttpRouter.add("POST", `${operatorApiRoot}/namespaces/:namespace/copytargets`, createCopyTarget),
  HttpRouter.add("POST", `${operatorApiRoot}/branchcredentials`, createBranchCredentials),
  HttpRouter.add("*", "/*", (request) =>
    Effect.andThen(authenticated, () =>
      Effect.fail(notFound(`The operator does not serve ${request.method} ${request.url.split("?")[0]}.`))
    )
  )
)

/**
 * Has the router read a path as kube-apiserver does, which has authorised it. The router ends a path at `;` and `#`:
 * who may only get `targets/x;/port-locks` would get `targets/x`.
 */
export const asAuthorised = <E, R>(
  app: Effect.Effect<HttpServerResponse.HttpServerResponse, E, R>
): Effect.Effect<HttpServerResponse.HttpServerResponse, E, HttpServerRequest.HttpServerRequest | R> =>
  Effect.flatMap(HttpServerRequest.HttpServerRequest, (request) => {
    const [path = "", ...query] = request.url.split("?")
    const whole = [path.replaceAll(";", "%3B").replaceAll("#", "%23"), ...query].join("?")
    return Effect.provideService(app, HttpServerRequest.HttpServerRequest, request.modify({ url: whole }))
  })

/**
 * Answers failures that the routes did not answer themselves with a `Status`: a path that cannot be decoded, a defect.
 */
export const orStatus = <E, R>(
  app: Effect.Effect<HttpServerResponse.HttpServerResponse, E, R>
): Effect.Effect<HttpServerResponse.HttpServerResponse, never, R> =>
  Effect.catchCause(app, (cause) => {
    if (Cause.hasInterruptsOnly(cause)) return Effect.interrupt
    const failure = Cause.squash(cause)
    if (failure instanceof ApiError) return failure[HttpServerRespondable.symbol]()
    if (failure instanceof HttpServerError.HttpServerError && failure.reason._tag === "RouteNotFound") {
      return notFound("The operator does not serve this path.")[HttpServerRespondable.symbol]()
    }
    return Effect.andThen(logError("request failed", { cause: Cause.pretty(cause) }), () =>
      internalError("The operator failed to answer; its log says why.")[HttpServerRespondable.symbol]()
    )
  })
