/**
 * {@link KubeApi} over HTTP: builds the request of each call and reads its answer. api-server.ts sends requests with
 * their credentials, kube-errors.ts knows the meaning of failures; nothing is retried here.
 */

import type { Readable } from "node:stream"
import type { KubeConfig } from "@kubernetes/client-node"
import { Array as Arr, Cause, Effect, type Pull, type Scope, Stream } from "effect"
import type { Dispatcher } from "undici"
import { isObject } from "../../domain/json.ts"
import { pods } from "../../domain/resources/core-kinds.ts"
import { timestamp } from "../../domain/resources/object-meta.ts"
import {
  type DeleteOptions,
  isKubeObject,
  keptEvent,
  type KubeApi,
  type KubeError,
  type KubeObject,
  type PodLogOptions,
  type PodLogs,
  type ResourceRef,
  type Selection,
  type WatchEvent
} from "../../ports/kube-api.ts"
import { type ApiRequest, type ApiServer, defaultTimes, type KubeApiTimes, makeApiServer, send } from "./api-server.ts"
import { maxObject, maxPage, readBody, TooLong } from "./bounded-body.ts"
import { InterningJsonParser } from "./interning-json-parser.ts"
import { type Operation, refused, unexpected, unreachable, watchFailure } from "./kube-errors.ts"
import type { LargeBodies } from "./large-bodies.ts"
import { readPages } from "./paged-list.ts"
import { wholeLines } from "./whole-lines.ts"

/** One parser for all clusters, because the members of a fleet hold much the same. */
const parser = new InterningJsonParser()

export const pathOf = (ref: ResourceRef, namespace: string | undefined, name?: string, subresource?: string): string =>
  [
    ref.group === "" ? `/api/${ref.version}` : `/apis/${ref.group}/${ref.version}`,
    ...(ref.scope === "Namespaced" && namespace !== undefined ? ["namespaces", encodeURIComponent(namespace)] : []),
    ref.plural,
    ...(name === undefined ? [] : [encodeURIComponent(name)]),
    ...(subresource === undefined ? [] : [subresource])
  ].join("/")

const queryOf = (selection: Selection | undefined, more: Readonly<Record<string, string>>): string => {
  const query = new URLSearchParams(more)
  if (selection?.labelSelector !== undefined) query.set("labelSelector", selection.labelSelector)
  const { fields = {}, name } = selection ?? {}
  const selected = Object.entries({ ...(name === undefined ? {} : { "metadata.name": name }), ...fields })
  if (selected.length > 0) query.set("fieldSelector", selected.map((pair) => pair.join("=")).join(","))
  const text = query.toString()
  return text === "" ? "" : `?${text}`
}

/** A server, and the name of its cluster for errors. */
interface Cluster {
  readonly name: string
  readonly server: ApiServer
}

const answerOf = async (
  server: ApiServer,
  asked: ApiRequest,
  operation: Operation,
  signal: AbortSignal
): Promise<Dispatcher.ResponseData> => {
  const response = await send(server, asked, signal)
  if (response.statusCode >= 300) throw await refused(operation, response)
  return response
}

/** Reads an answer that is to be JSON. Another server than an API server answers with a web page, and also with 200. */
const readJson = async (body: Readable, most: number, large: LargeBodies): Promise<Buffer> => {
  const bytes = await readBody(body, most, large)
  if (bytes.subarray(0, 64).toString("utf8").trimStart().startsWith("<"))
    throw new Error(
      "the answer is a web page and not a Kubernetes API server's; look whether the cluster's address is right, and " +
        "whether a proxy or a sign-in page stands before it"
    )
  return bytes
}

type Read = (body: Readable, large: LargeBodies) => Promise<unknown>

const readObject: Read = async (body, large) => JSON.parse((await readJson(body, maxObject, large)).toString("utf8"))

/** A page of a list, or the error that says that it is too long. */
const readPage: Read = async (body, large) => {
  try {
    return parser.parse(await readJson(body, maxPage, large), "list")
  } catch (error) {
    if (error instanceof TooLong) return error
    throw error
  }
}

const call = (
  { name, server }: Cluster,
  asked: ApiRequest,
  read: Read = readObject
): Effect.Effect<unknown, KubeError> => {
  const operation = { cluster: name, operation: `${asked.method} ${asked.path}` }
  return Effect.tryPromise({
    try: async (signal) => read((await answerOf(server, asked, operation, signal)).body, server.large),
    catch: (cause) => unreachable(operation, cause)
  })
}

/** A call that is answered with one object. */
const callForObject = (cluster: Cluster, asked: ApiRequest, operation: string): Effect.Effect<KubeObject, KubeError> =>
  Effect.flatMap(call(cluster, asked), (value) =>
    isKubeObject(value)
      ? Effect.succeed(value)
      : Effect.fail(unexpected({ cluster: cluster.name, operation }, "the answer is not an object with metadata"))
  )

const json = (value: object): NonNullable<ApiRequest["body"]> => ({ type: "application/json", value })

const list = (cluster: Cluster, ref: ResourceRef, selection: Selection | undefined): ReturnType<KubeApi["list"]> =>
  readPages({ cluster: cluster.name, operation: `list ${ref.plural}` }, ref, (page) => {
    const path = `${pathOf(ref, selection?.namespace)}${queryOf(selection, page)}`
    return call(cluster, { method: "GET", path }, readPage)
  })

/** The watch of a collection. `from`: the version that it began with. */
interface Watch {
  readonly operation: Operation
  readonly ref: ResourceRef
  readonly from: string
}

/** Reads an event of the server; throws if the event ends the watch. */
const toEvent = ({ from, operation, ref }: Watch, value: unknown): WatchEvent => {
  const event = isObject(value) ? value : {}
  const changed = event["object"]
  if (event["type"] === "ERROR") throw watchFailure(operation, changed)
  if (!isKubeObject(changed)) throw unexpected(operation, "a watch event without object")
  if (event["type"] === "BOOKMARK") {
    return { _tag: "Bookmark", resourceVersion: changed.metadata.resourceVersion ?? from }
  }
  return keptEvent(ref, { _tag: event["type"] === "DELETED" ? "Deleted" : "Changed", object: changed })
}

/** Gives as many events at a time as have come; the events before a failure come first. */
const watchEvents = (body: Readable, watched: Watch): Pull.Pull<Arr.NonEmptyReadonlyArray<WatchEvent>, KubeError> => {
  const { operation } = watched
  let failed: KubeError | undefined
  const next: Pull.Pull<Arr.NonEmptyReadonlyArray<WatchEvent>, unknown> = Effect.flatMap(wholeLines(body), (lines) => {
    const events: Array<WatchEvent> = []
    try {
      parser.parseEach(lines, "event", (value) => events.push(toEvent(watched, value)))
    } catch (cause) {
      failed = unreachable(operation, cause)
    }
    return Arr.isReadonlyArrayNonEmpty(events) ? Effect.succeed(events) : nextOrFailure
  })
  const nextOrFailure = Effect.suspend(() => (failed === undefined ? next : Effect.fail(failed)))
  return nextOrFailure.pipe(Effect.mapError((cause) => (Cause.isDone(cause) ? cause : unreachable(operation, cause))))
}

/** The body of an answer that is read as it comes. */
const streamed = <A>(
  server: ApiServer,
  asked: ApiRequest,
  operation: Operation,
  read: (body: Readable) => Pull.Pull<Arr.NonEmptyReadonlyArray<A>, KubeError>
): Stream.Stream<A, KubeError> =>
  Stream.unwrap(
    Effect.gen(function* () {
      const signal = yield* Effect.abortSignal
      const response = yield* Effect.tryPromise({
        try: () => answerOf(server, asked, operation, signal),
        catch: (cause) => unreachable(operation, cause)
      })
      return Stream.fromPull(Effect.succeed(read(response.body)))
    })
  )

const watch = (
  { name, server }: Cluster,
  ref: ResourceRef,
  from: string,
  selection: Selection | undefined
): ReturnType<KubeApi["watch"]> => {
  const query = queryOf(selection, {
    watch: "true",
    allowWatchBookmarks: "true",
    timeoutSeconds: String(server.times.watchSeconds),
    resourceVersion: from
  })
  const path = `${pathOf(ref, selection?.namespace)}${query}`
  const operation = { cluster: name, operation: `WATCH ${path}` }
  const asked: ApiRequest = { method: "GET", path, silence: server.times.watchTimeout }
  return streamed(server, asked, operation, (body) => watchEvents(body, { operation, ref, from }))
}

/** Gives as many lines at a time as have come. Every line of a log has an end, so that a rest is no line. */
const logLines = (body: Readable, operation: Operation): Pull.Pull<Arr.NonEmptyReadonlyArray<string>, KubeError> =>
  wholeLines(body).pipe(
    Effect.map((lines): Arr.NonEmptyReadonlyArray<string> => {
      const [first = "", ...others] = lines.toString("utf8").split("\n").slice(0, -1)
      return [first, ...others]
    }),
    Effect.mapError((cause) => (Cause.isDone(cause) ? cause : unreachable(operation, cause)))
  )

const podLog = (
  { name, server }: Cluster,
  namespace: string,
  pod: string,
  { container, follow = false, previous = false, sinceSeconds, sinceTime }: PodLogOptions
): ReturnType<PodLogs["podLog"]> => {
  const query = new URLSearchParams({
    container,
    timestamps: "true",
    ...(follow ? { follow: "true" } : {}),
    ...(previous ? { previous: "true" } : {}),
    ...(sinceSeconds === undefined ? {} : { sinceSeconds: String(sinceSeconds) }),
    ...(sinceTime === undefined ? {} : { sinceTime: timestamp(sinceTime) })
  })
  const path = `${pathOf(pods, namespace, pod, "log")}?${query.toString()}`
  const operation = { cluster: name, operation: `GET ${path}` }
  // A program may be silent for as long as it likes; a connection that hangs is found all the same.
  const asked: ApiRequest = { method: "GET", path, ...(follow ? { silence: server.times.watchTimeout } : {}) }
  return streamed(server, asked, operation, (body) => logLines(body, operation))
}

const deletion = (options: DeleteOptions | undefined): object => ({
  apiVersion: "v1",
  kind: "DeleteOptions",
  propagationPolicy: "Background",
  ...(options?.gracePeriodSeconds === undefined ? {} : { gracePeriodSeconds: options.gracePeriodSeconds }),
  // JSON leaves a version out that is not there.
  ...(options?.uid === undefined
    ? {}
    : { preconditions: { uid: options.uid, resourceVersion: options.resourceVersion } })
})

/** {@link KubeApi} of a server. */
export const kubeApiOf = (server: ApiServer, cluster: string): KubeApi & PodLogs => {
  const from: Cluster = { name: cluster, server }
  return {
    cluster,
    get: (ref, name, namespace) =>
      callForObject(from, { method: "GET", path: pathOf(ref, namespace, name) }, `get ${name}`),
    list: (ref, selection) => list(from, ref, selection),
    watch: (ref, resourceVersion, selection) => watch(from, ref, resourceVersion, selection),
    create: (ref, value, namespace) => {
      const asked: ApiRequest = { method: "POST", path: pathOf(ref, namespace), body: json(value) }
      return callForObject(from, asked, `create ${ref.plural}`)
    },
    mergePatch: (ref, name, patch, options) => {
      const path = pathOf(ref, options?.namespace, name, options?.subresource)
      const body = { type: "application/merge-patch+json", value: patch }
      return callForObject(from, { method: "PATCH", path, body }, `patch ${name}`)
    },
    update: (ref, value, { namespace, subresource }) => {
      const { name } = value.metadata
      const path = pathOf(ref, namespace, name, subresource)
      return callForObject(from, { method: "PUT", path, body: json(value) }, `update ${name}`)
    },
    delete: (ref, name, options) => {
      const path = pathOf(ref, options?.namespace, name)
      return Effect.asVoid(call(from, { method: "DELETE", path, body: json(deletion(options)) }))
    },
    podLog: (namespace, pod, options) => podLog(from, namespace, pod, options)
  }
}

/**
 * {@link KubeApi} over HTTP. `@kubernetes/client-node` brings the configuration and the credentials; requests go out
 * raw, because its typed models drop fields that they do not know. The connection pool is renewed when the credentials
 * change. `userAgent` names the caller in audit logs and, up to its first slash, in `managedFields`.
 */
export const makeKubeApi = (
  config: KubeConfig,
  cluster: string,
  times: KubeApiTimes = defaultTimes,
  userAgent = "braid"
): Effect.Effect<KubeApi & PodLogs, never, Scope.Scope> =>
  Effect.map(makeApiServer(config, times, userAgent), (server) => kubeApiOf(server, cluster))

/** Reads answers that are JSON and no objects of Kubernetes, by path and query. */
export const makeJsonReader = (
  config: KubeConfig,
  cluster: string,
  times: KubeApiTimes = defaultTimes
): Effect.Effect<(path: string) => Effect.Effect<unknown, KubeError>, never, Scope.Scope> =>
  Effect.map(
    makeApiServer(config, times, "braid"),
    (server) => (path) => call({ name: cluster, server }, { method: "GET", path })
  )
