import { readFile } from "node:fs/promises"
import type { RequestOptions } from "node:https"
import type { Readable } from "node:stream"
import type { KubeConfig } from "@kubernetes/client-node"
import { Array as Arr, Cause, Effect, type Pull, type Scope, Stream } from "effect"
import { Agent, type Dispatcher } from "undici"
import {
  type KubeApi,
  KubeError,
  type KubeErrorReason,
  type KubeObject,
  type ResourceRef,
  type Selection,
  type WatchEvent
} from "../../ports/kube-api.ts"
import { InterningJsonParser } from "./interning-json-parser.ts"
import { wholeLines } from "./whole-lines.ts"

/** One for all clusters: members of one fleet hold much the same. */
const parser = new InterningJsonParser()

/** How long a server may be silent. */
export interface KubeApiTimes {
  /** Until a connection stands, in ms. */
  readonly connectTimeout: number
  /** Until it begins an answer, in ms. */
  readonly headersTimeout: number
  /** Within an answer, in ms. */
  readonly bodyTimeout: number
  /** A watch is silent while nothing happens; so many seconds after its start the server is asked to end it. */
  readonly watchSeconds: number
  /**
   * A watch that is silent for longer than this, in ms, hangs on a connection whose other end is gone. More than
   * `watchSeconds`.
   */
  readonly watchTimeout: number
}

export const defaultTimes: KubeApiTimes = {
  connectTimeout: 10_000,
  headersTimeout: 30_000,
  bodyTimeout: 30_000,
  watchSeconds: 290,
  watchTimeout: 300_000
}

const reasons: ReadonlySet<string> = new Set<KubeErrorReason>([
  "NotFound",
  "AlreadyExists",
  "Conflict",
  "Gone",
  "Forbidden",
  "Unauthorized",
  "Invalid",
  "TooManyRequests"
])
const byCode: Readonly<Record<number, KubeErrorReason>> = {
  400: "Invalid",
  401: "Unauthorized",
  403: "Forbidden",
  404: "NotFound",
  409: "Conflict",
  410: "Gone",
  422: "Invalid",
  429: "TooManyRequests"
}

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null
const isKubeObject = (value: unknown): value is KubeObject => isRecord(value) && isRecord(value["metadata"])

/** The reason a `Status` or an HTTP code gives; `Expired` is the other name of `Gone` in watch errors. */
export const reasonOf = (code: number, reason: unknown): KubeErrorReason => {
  if (reason === "Expired") return "Gone"
  return typeof reason === "string" && reasons.has(reason) ? (reason as KubeErrorReason) : (byCode[code] ?? "Other")
}

/** A patch was meant for an object that has been made anew: its uid, a server says, cannot be changed. */
const isOfAnother = (status: Readonly<Record<string, unknown>>): boolean => {
  const details = isRecord(status["details"]) ? status["details"] : {}
  const causes: ReadonlyArray<unknown> = Array.isArray(details["causes"]) ? details["causes"] : []
  return status["reason"] === "Invalid" && causes.some((cause) => isRecord(cause) && cause["field"] === "metadata.uid")
}

/** Kubernetes gives whole seconds; the header's other form, a date, is not used there. */
const retryAfter = (header: string | ReadonlyArray<string> | undefined): number | undefined =>
  typeof header === "string" && /^\d{1,6}$/.test(header) ? Number(header) * 1_000 : undefined

export const pathOf = (ref: ResourceRef, namespace: string | undefined, name?: string, subresource?: string): string =>
  [
    ref.group === "" ? `/api/${ref.version}` : `/apis/${ref.group}/${ref.version}`,
    ...(ref.scope === "Namespaced" && namespace !== undefined ? ["namespaces", encodeURIComponent(namespace)] : []),
    ref.plural,
    ...(name === undefined ? [] : [encodeURIComponent(name)]),
    ...(subresource === undefined ? [] : [subresource])
  ].join("/")

/**
 * Where the kubelet keeps a pod's token, which it renews. client-node would read it once a minute, and one file for all
 * configurations.
 */
const tokenFileOf = (config: KubeConfig): string | undefined => {
  const provider: unknown = config.getCurrentUser()?.authProvider
  const settings = isRecord(provider) && isRecord(provider["config"]) ? provider["config"] : {}
  const file = settings["tokenFile"]
  return typeof file === "string" ? file : undefined
}

const queryOf = (selection: Selection | undefined, more: Readonly<Record<string, string>>): string => {
  const query = new URLSearchParams(more)
  if (selection?.labelSelector !== undefined) query.set("labelSelector", selection.labelSelector)
  if (selection?.name !== undefined) query.set("fieldSelector", `metadata.name=${selection.name}`)
  const text = query.toString()
  return text === "" ? "" : `?${text}`
}

/**
 * {@link KubeApi} over HTTP. `@kubernetes/client-node` brings the configuration and the credentials; requests go out
 * raw, as its typed models drop fields that they do not know. One connection pool, renewed when the credentials change.
 * `userAgent` is what audit logs and `managedFields` (up to its first slash) say of who asked.
 */
export const makeKubeApi = (
  config: KubeConfig,
  cluster: string,
  times: KubeApiTimes = defaultTimes,
  userAgent = "braid"
): Effect.Effect<KubeApi, never, Scope.Scope> =>
  Effect.gen(function* () {
    const { bodyTimeout, connectTimeout, headersTimeout, watchSeconds, watchTimeout } = times
    let pool: { readonly key: string; readonly agent: Agent } | undefined
    yield* Effect.addFinalizer(() => Effect.promise(async () => pool?.agent.destroy()))

    const credentials = async (): Promise<{ readonly agent: Agent; readonly headers: Record<string, string> }> => {
      const options: RequestOptions = {}
      await config.applyToHTTPSOptions(options)
      const { ca, cert, key, rejectUnauthorized, servername } = options
      const identity = [config.getCurrentCluster()?.server, ca, cert, key, rejectUnauthorized, servername].join("|")
      if (pool?.key !== identity) {
        // Requests under way go on with the credentials that they began with.
        void pool?.agent.close().catch(() => {})
        pool = {
          key: identity,
          agent: new Agent({
            headersTimeout,
            bodyTimeout,
            connect: {
              ca,
              cert,
              key,
              rejectUnauthorized: rejectUnauthorized ?? true,
              servername,
              timeout: connectTimeout
            }
          })
        }
      }
      const file = tokenFileOf(config)
      const authorization =
        file === undefined
          ? (options.headers as Record<string, string> | undefined)?.["Authorization"]
          : `Bearer ${(await readFile(file, "utf8")).trim()}`
      return { agent: pool.agent, headers: authorization === undefined ? {} : { authorization } }
    }

    const failure = (
      operation: string,
      reason: KubeErrorReason,
      detail: string,
      code?: number,
      retryAfterMs?: number
    ): KubeError =>
      new KubeError({
        cluster,
        operation,
        reason,
        detail,
        ...(code === undefined ? {} : { code }),
        ...(retryAfterMs === undefined ? {} : { retryAfterMs })
      })

    const unreachable = (operation: string, cause: unknown): KubeError => {
      if (cause instanceof KubeError) return cause
      const inner = cause instanceof Error && cause.cause instanceof Error ? cause.cause : cause
      return failure(operation, "Unreachable", inner instanceof Error ? inner.message || inner.name : String(inner))
    }

    const server = (): URL => new URL(config.getCurrentCluster()?.server ?? "https://127.0.0.1:1")

    const send = async (
      method: Dispatcher.HttpMethod,
      path: string,
      signal: AbortSignal,
      body?: { readonly type: string; readonly value: object },
      silence = bodyTimeout
    ): Promise<Dispatcher.ResponseData> => {
      const { agent, headers } = await credentials()
      return agent.request({
        origin: server().origin,
        path: `${server().pathname.replace(/\/$/, "")}${path}`,
        method,
        signal,
        bodyTimeout: silence,
        headers: {
          ...headers,
          "user-agent": userAgent,
          accept: "application/json",
          ...(body === undefined ? {} : { "content-type": body.type })
        },
        body: body === undefined ? null : JSON.stringify(body.value)
      })
    }

    const refused = async (operation: string, response: Dispatcher.ResponseData): Promise<KubeError> => {
      const text = await response.body.text()
      const code = response.statusCode
      const pause = retryAfter(response.headers["retry-after"])
      try {
        const status: unknown = JSON.parse(text)
        if (isRecord(status))
          return failure(
            operation,
            isOfAnother(status) ? "Conflict" : reasonOf(code, status["reason"]),
            String(status["message"] ?? text),
            code,
            pause
          )
      } catch {
        // Not every proxy in front of an API server answers with a Status.
      }
      return failure(operation, reasonOf(code, undefined), text.slice(0, 500) || `HTTP ${code}`, code, pause)
    }

    const call = (
      method: Dispatcher.HttpMethod,
      path: string,
      body?: { readonly type: string; readonly value: object },
      read: (response: Dispatcher.BodyMixin) => Promise<unknown> = (response) => response.json()
    ): Effect.Effect<unknown, KubeError> => {
      const operation = `${method} ${path}`
      return Effect.tryPromise({
        try: async (signal) => {
          const response = await send(method, path, signal, body)
          if (response.statusCode >= 300) throw await refused(operation, response)
          return read(response.body)
        },
        catch: (cause) => unreachable(operation, cause)
      })
    }

    const object =
      (operation: string) =>
      (value: unknown): Effect.Effect<KubeObject, KubeError> =>
        isKubeObject(value)
          ? Effect.succeed(value)
          : Effect.fail(failure(operation, "Other", "the answer is not an object with metadata"))

    const json = (value: object) => ({ type: "application/json", value })
    const readList = async (body: Dispatcher.BodyMixin): Promise<unknown> =>
      parser.parse(Buffer.from(await body.arrayBuffer()), "list")

    return {
      cluster,
      get: (ref, name, namespace) =>
        call("GET", pathOf(ref, namespace, name)).pipe(Effect.flatMap(object(`get ${name}`))),
      list: (ref, selection) =>
        call("GET", `${pathOf(ref, selection?.namespace)}${queryOf(selection, {})}`, undefined, readList).pipe(
          Effect.flatMap((value) => {
            const list = isRecord(value) ? value : {}
            const { metadata } = list
            // An empty slice of Go is null in JSON.
            const items = list["items"] === null ? [] : list["items"]
            const version = isRecord(metadata) ? metadata["resourceVersion"] : undefined
            // Never taken for an empty list: what is missing from a list counts as deleted.
            return Array.isArray(items) && items.every(isKubeObject) && typeof version === "string"
              ? Effect.succeed({ items, resourceVersion: version })
              : Effect.fail(
                  failure(`list ${ref.plural}`, "Other", "the answer is not a list of objects with a resourceVersion")
                )
          })
        ),
      watch: (ref, resourceVersion, selection) => {
        const query = queryOf(selection, {
          watch: "true",
          allowWatchBookmarks: "true",
          timeoutSeconds: String(watchSeconds),
          resourceVersion
        })
        const path = `${pathOf(ref, selection?.namespace)}${query}`
        const operation = `WATCH ${path}`
        const toEvent = (value: unknown): WatchEvent => {
          const event = isRecord(value) ? value : {}
          const changed = event["object"]
          if (event["type"] === "ERROR") {
            const status = isRecord(changed) ? changed : {}
            const code = Number(status["code"] ?? 0)
            throw failure(operation, reasonOf(code, status["reason"]), String(status["message"] ?? "watch error"), code)
          }
          if (!isKubeObject(changed)) throw failure(operation, "Other", "a watch event without object")
          if (event["type"] === "BOOKMARK") {
            return { _tag: "Bookmark", resourceVersion: changed.metadata.resourceVersion ?? resourceVersion }
          }
          return { _tag: event["type"] === "DELETED" ? "Deleted" : "Changed", object: changed }
        }
        /** As many events at a time as have come; those before one that ends the watch first. */
        const events = (body: Readable): Pull.Pull<Arr.NonEmptyReadonlyArray<WatchEvent>, KubeError> => {
          let failed: KubeError | undefined
          const next: Pull.Pull<Arr.NonEmptyReadonlyArray<WatchEvent>, unknown> = Effect.flatMap(
            wholeLines(body),
            (lines) => {
              const come: Array<WatchEvent> = []
              try {
                parser.parseEach(lines, "event", (value) => come.push(toEvent(value)))
              } catch (cause) {
                failed = unreachable(operation, cause)
              }
              return Arr.isReadonlyArrayNonEmpty(come) ? Effect.succeed(come) : again
            }
          )
          const again = Effect.suspend(() => (failed === undefined ? next : Effect.fail(failed)))
          return again.pipe(Effect.mapError((cause) => (Cause.isDone(cause) ? cause : unreachable(operation, cause))))
        }
        return Stream.unwrap(
          Effect.gen(function* () {
            const signal = yield* Effect.abortSignal
            const response = yield* Effect.tryPromise({
              try: async () => {
                const answer = await send("GET", path, signal, undefined, watchTimeout)
                if (answer.statusCode >= 300) throw await refused(operation, answer)
                return answer
              },
              catch: (cause) => unreachable(operation, cause)
            })
            return Stream.fromPull(Effect.succeed(events(response.body)))
          })
        )
      },
      create: (ref, value, namespace) =>
        call("POST", pathOf(ref, namespace), json(value)).pipe(Effect.flatMap(object(`create ${ref.plural}`))),
      mergePatch: (ref, name, patch, options) =>
        call("PATCH", pathOf(ref, options?.namespace, name, options?.subresource), {
          type: "application/merge-patch+json",
          value: patch
        }).pipe(Effect.flatMap(object(`patch ${name}`))),
      delete: (ref, name, options) =>
        call(
          "DELETE",
          pathOf(ref, options?.namespace, name),
          json({
            apiVersion: "v1",
            kind: "DeleteOptions",
            propagationPolicy: "Background",
            ...(options?.gracePeriodSeconds === undefined ? {} : { gracePeriodSeconds: options.gracePeriodSeconds }),
            ...(options?.uid === undefined ? {} : { preconditions: { uid: options.uid } })
          })
        ).pipe(Effect.asVoid)
    } satisfies KubeApi
  })
