import { Effect, Fiber, Queue, Stream } from "effect"
import { beforeEach, describe, expect, it } from "vitest"
import type { MemberToken } from "../../../src/domain/fleet/credentials/member-credentials.ts"
import { at } from "../../../src/domain/json.ts"
import { configMaps, pods } from "../../../src/domain/resources/core-kinds.ts"
import { mirrordClusterSessions } from "../../../src/domain/resources/mirrord-cluster-session.ts"
import type { KubeApi, KubeError, PodLogs, ResourceRef, WatchEvent } from "../../../src/ports/kube-api.ts"
import { eventually } from "../../support/eventually.ts"

type Listed = Effect.Success<ReturnType<KubeApi["list"]>>

/** A server that {@link kubeApiSuite} runs against. Both CRDs of this project are installed. */
export interface KubeApiServer {
  readonly admin: KubeApi
  /** As `admin`, the way in which people's commands connect. */
  readonly logs: PodLogs
  /** A client certificate that no authority of the server's signed, or a token that it never issued. */
  readonly unknown: KubeApi
  /**
   * A service account `default/reader` by its token; it may get, list and watch ConfigMaps in `default` and nothing
   * else.
   */
  readonly reader: KubeApi
  /** As `reader`, until it gets other credentials. */
  readonly changing: { readonly api: KubeApi; readonly become: (user: "reader" | "unknown") => void }
  /** Gets a token of `reader` for so many seconds, as a primary does, and tries it. */
  readonly grant: (expirationSeconds: number) => Promise<MemberToken>
  readonly stop: () => Promise<void>
  readonly restart: () => Promise<void>
  /** Makes the server forget the versions before now. */
  readonly forget: () => Promise<void>
}

const run = Effect.runPromise
export const failureOf = (effect: Effect.Effect<unknown, KubeError>): Promise<KubeError> => run(Effect.flip(effect))

const configMap = (name: string, data: Readonly<Record<string, string>> = {}, more: object = {}) => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name, ...more },
  data
})
const session = (name: string) => ({
  apiVersion: "mirrord.metalbear.co/v1alpha",
  kind: "MirrordClusterSession",
  metadata: { name },
  spec: { namespace: "default", owner: { userId: "u", username: "d", hostname: "h", k8sUsername: "k" } }
})
const shown = (event: WatchEvent): string =>
  event._tag === "Bookmark" ? "bookmark" : `${event._tag} ${event.object.metadata.name}`

/** Everything that {@link KubeApi} promises, asked of a real connection. The same cases hold for any API server. */
export const kubeApiSuite = (server: () => KubeApiServer): void => {
  /**
   * A real server that has just started, or forgotten, lists a kind only after a moment: "storage is (re)initializing"
   * (429).
   */
  const listed = (...args: Parameters<KubeApi["list"]>): Promise<Listed> =>
    eventually(`a list of ${args[0].plural}`, () => run(server().admin.list(...args)))

  // Each test begins without what others left, and so does its second try.
  beforeEach(async () => {
    const { admin } = server()
    const maps = await listed(configMaps, { namespace: "default" })
    for (const { metadata } of maps.items)
      if (metadata.name !== "kube-root-ca.crt")
        await run(admin.delete(configMaps, metadata.name, { namespace: "default" }))
    for (const { metadata } of (await listed(mirrordClusterSessions)).items)
      await run(admin.delete(mirrordClusterSessions, metadata.name))
  })

  describe("objects", () => {
    it("are all listed, in pages of fewer objects where an answer would be too long", async () => {
      const { admin } = server()
      const place = { namespace: "default" }
      const large = Array.from({ length: 12 }, (_, index) => `large-${String(index).padStart(2, "0")}`)
      const data = { text: "x".repeat(900_000) }
      for (const name of large) await run(admin.create(configMaps, configMap(name, data), place.namespace))
      const { items, resourceVersion } = await listed(configMaps, place)
      const found = items.filter(({ metadata }) => metadata.name.startsWith("large-"))
      expect(found.map(({ metadata }) => metadata.name)).toEqual(large)
      expect(new Set(found.map((one) => at(one, "data", "text")))).toEqual(new Set([data.text]))
      // The version is that of the list: a watch from it has nothing to tell.
      await run(admin.delete(configMaps, "large-00", place))
      const [event] = await run(Stream.runCollect(Stream.take(admin.watch(configMaps, resourceVersion, place), 1)))
      expect(event).toMatchObject({ _tag: "Deleted", object: { metadata: { name: "large-00" } } })
    })

    it("are created, read, listed by label, patched and deleted", async () => {
      const { admin } = server()
      const made = await run(
        admin.create(configMaps, configMap("crud", { a: "1" }, { labels: { of: "crud" } }), "default")
      )
      expect(made.metadata).toMatchObject({
        name: "crud",
        namespace: "default",
        uid: expect.any(String),
        resourceVersion: expect.any(String)
      })
      expect((await run(admin.get(configMaps, "crud", "default")))["data"]).toEqual({ a: "1" })
      const { items, resourceVersion } = await run(
        admin.list(configMaps, { namespace: "default", labelSelector: "of=crud" })
      )
      expect(items.map(({ metadata }) => metadata.name)).toEqual(["crud"])
      expect(resourceVersion).toMatch(/^\d+$/)
      expect((await run(admin.list(configMaps, { labelSelector: "of=crud" }))).items).toHaveLength(1)
      const patched = await run(
        admin.mergePatch(configMaps, "crud", { data: { a: null, b: "2" } }, { namespace: "default" })
      )
      expect(patched["data"]).toEqual({ b: "2" })
      await run(admin.delete(configMaps, "crud", { namespace: "default" }))
      expect(await failureOf(admin.get(configMaps, "crud", "default"))).toMatchObject({ reason: "NotFound", code: 404 })
    })

    it("keep fields that this program does not know", async () => {
      const { admin } = server()
      await run(
        admin.create(
          configMaps,
          { ...configMap("unknown-fields"), immutable: true, binaryData: { x: "AA==" } },
          "default"
        )
      )
      expect(await run(admin.get(configMaps, "unknown-fields", "default"))).toMatchObject({
        immutable: true,
        binaryData: { x: "AA==" }
      })
    })

    it("that are there already are AlreadyExists", async () => {
      const { admin } = server()
      await run(admin.create(configMaps, configMap("twice"), "default"))
      expect(await failureOf(admin.create(configMaps, configMap("twice"), "default"))).toMatchObject({
        reason: "AlreadyExists",
        code: 409
      })
    })

    it("are not changed by a patch from an old view: Conflict for a stale version and for another uid", async () => {
      const { admin } = server()
      const { metadata } = await run(admin.create(configMaps, configMap("stale"), "default"))
      await run(admin.mergePatch(configMaps, "stale", { data: { a: "1" } }, { namespace: "default" }))
      const patch = (meta: object) =>
        admin.mergePatch(configMaps, "stale", { metadata: meta, data: { a: "2" } }, { namespace: "default" })
      expect(await failureOf(patch({ resourceVersion: metadata.resourceVersion }))).toMatchObject({
        reason: "Conflict",
        code: 409
      })
      expect(await failureOf(patch({ uid: "00000000-0000-0000-0000-000000000000" }))).toMatchObject({
        reason: "Conflict"
      })
      expect((await run(admin.get(configMaps, "stale", "default")))["data"]).toEqual({ a: "1" })
    })

    it("are not deleted for another one's uid", async () => {
      const { admin } = server()
      const { metadata } = await run(admin.create(configMaps, configMap("uid"), "default"))
      const uid = "00000000-0000-0000-0000-000000000000"
      expect(await failureOf(admin.delete(configMaps, "uid", { namespace: "default", uid }))).toMatchObject({
        reason: "Conflict"
      })
      await run(
        admin.delete(configMaps, "uid", {
          namespace: "default",
          ...(metadata.uid === undefined ? {} : { uid: metadata.uid })
        })
      )
      expect(await failureOf(admin.delete(configMaps, "uid", { namespace: "default" }))).toMatchObject({
        reason: "NotFound"
      })
    })

    it("are not deleted in another version than the one that was looked at", async () => {
      const { admin } = server()
      const { metadata } = await run(admin.create(configMaps, configMap("version"), "default"))
      const { resourceVersion = "" } = metadata
      const options = { namespace: "default", uid: metadata.uid ?? "", resourceVersion }
      const after = await run(admin.mergePatch(configMaps, "version", { data: { a: "2" } }, { namespace: "default" }))
      expect(await failureOf(admin.delete(configMaps, "version", options))).toMatchObject({ reason: "Conflict" })
      const { resourceVersion: now = "" } = after.metadata
      await run(admin.delete(configMaps, "version", { ...options, resourceVersion: now }))
    })

    it("have a status that only its subresource changes", async () => {
      const { admin } = server()
      await run(
        admin.create(mirrordClusterSessions, {
          ...session("status"),
          status: { connectedTimestamp: "2026-01-01T00:00:00Z" }
        })
      )
      const read = async () => (await run(admin.get(mirrordClusterSessions, "status")))["status"]
      expect(await read()).toBeUndefined()
      await run(
        admin.mergePatch(
          mirrordClusterSessions,
          "status",
          { status: { connectedTimestamp: "2026-01-02T00:00:00Z" } },
          { subresource: "status" }
        )
      )
      expect(await read()).toEqual({ connectedTimestamp: "2026-01-02T00:00:00Z" })
      await run(
        admin.mergePatch(mirrordClusterSessions, "status", { status: { connectedTimestamp: "2026-01-03T00:00:00Z" } })
      )
      expect(await read()).toEqual({ connectedTimestamp: "2026-01-02T00:00:00Z" })
    })

    it("have a status whose patches are refused for a stale version, but not for another uid", async () => {
      const { admin } = server()
      const { metadata } = await run(admin.create(mirrordClusterSessions, session("status-of-another")))
      const patch = (meta: object, connectedTimestamp: string) =>
        admin.mergePatch(
          mirrordClusterSessions,
          "status-of-another",
          { metadata: meta, status: { connectedTimestamp } },
          { subresource: "status" }
        )
      const uid = "00000000-0000-0000-0000-000000000000"
      expect(await run(patch({ uid }, "2026-01-01T00:00:00Z"))).toMatchObject({
        metadata: { uid: metadata.uid },
        status: { connectedTimestamp: "2026-01-01T00:00:00Z" }
      })
      expect(
        await failureOf(patch({ resourceVersion: metadata.resourceVersion }, "2026-01-02T00:00:00Z"))
      ).toMatchObject({ reason: "Conflict", code: 409 })
    })

    it("that break their schema are Invalid, with the field's name", async () => {
      const { admin } = server()
      expect(
        await failureOf(admin.create(mirrordClusterSessions, { ...session("invalid"), spec: { namespace: 5 } }))
      ).toMatchObject({ reason: "Invalid", code: 422, detail: expect.stringContaining("namespace") })
    })

    it("of a kind that is not served are NotFound", async () => {
      const nothing: ResourceRef = { group: "nothing.example", version: "v1", plural: "nothings", scope: "Cluster" }
      expect(await failureOf(server().admin.list(nothing))).toMatchObject({ reason: "NotFound", code: 404 })
    })

    it("are asked for by names with any characters in them", async () => {
      const { admin } = server()
      expect(await failureOf(admin.get(configMaps, "../secrets/a?b#c", "default"))).toMatchObject({
        reason: "NotFound"
      })
    })
  })

  /** Follows the ConfigMaps of a label; `next` gives one event after the other. */
  const follow = (api: KubeApi, from: string, label: string) => {
    const events = Effect.runSync(Queue.unbounded<string>())
    const fiber = Effect.runFork(
      Effect.result(
        Stream.runForEach(
          api.watch(configMaps, from, { namespace: "default", labelSelector: `of=${label}` }),
          (event) => Queue.offer(events, shown(event))
        )
      )
    )
    const next = async (): Promise<string> => {
      for (;;) {
        const event = await run(Queue.take(events))
        if (event !== "bookmark") return event
      }
    }
    return { fiber, next, any: () => run(Queue.take(events)) }
  }

  describe("a watch", () => {
    it("tells of every change after its version, in order, and ends when it is given up", async () => {
      const { admin } = server()
      const labels = { labels: { of: "watch" } }
      const { resourceVersion } = await run(admin.list(configMaps, { namespace: "default" }))
      await run(admin.create(configMaps, configMap("w1", {}, labels), "default"))
      const { fiber, next } = follow(admin, resourceVersion, "watch")
      expect(await next()).toBe("Changed w1")
      await run(admin.mergePatch(configMaps, "w1", { data: { a: "1" } }, { namespace: "default" }))
      await run(admin.create(configMaps, configMap("unwatched"), "default"))
      await run(admin.delete(configMaps, "w1", { namespace: "default" }))
      expect([await next(), await next()]).toEqual(["Changed w1", "Deleted w1"])
      await run(Fiber.interrupt(fiber))
    })

    it("from a version that is forgotten is Gone", async () => {
      const { admin, forget } = server()
      const { resourceVersion } = await run(admin.list(configMaps, { namespace: "default" }))
      await forget()
      await listed(configMaps, { namespace: "default" })
      const { fiber } = follow(admin, resourceVersion, "gone")
      expect(await run(Fiber.join(fiber))).toMatchObject({ _tag: "Failure", failure: { reason: "Gone", code: 410 } })
    })

    it("and every request fail as Unreachable while the server is away, and later work again", async () => {
      const { admin, restart, stop } = server()
      const { resourceVersion } = await run(admin.list(configMaps, { namespace: "default" }))
      const first = follow(admin, resourceVersion, "restart")
      await run(admin.create(configMaps, configMap("r1", {}, { labels: { of: "restart" } }), "default"))
      expect(await first.next()).toBe("Changed r1")
      await stop()
      expect(await run(Fiber.join(first.fiber))).toMatchObject({ _tag: "Failure", failure: { reason: "Unreachable" } })
      const error = await failureOf(admin.get(configMaps, "r1", "default"))
      expect(error.reason).toBe("Unreachable")
      expect(error.code).toBeUndefined()
      await restart()
      await listed(configMaps, { namespace: "default" })
      expect((await run(admin.get(configMaps, "r1", "default"))).metadata.name).toBe("r1")
      // A server that was restarted remembers nothing from before.
      expect(await run(Fiber.join(follow(admin, resourceVersion, "restart").fiber))).toMatchObject({
        _tag: "Failure",
        failure: { reason: "Gone", code: 410 }
      })
      const list = await run(admin.list(configMaps, { namespace: "default" }))
      const second = follow(admin, list.resourceVersion, "restart")
      await run(admin.mergePatch(configMaps, "r1", { data: { a: "1" } }, { namespace: "default" }))
      expect(await second.next()).toBe("Changed r1")
      await run(Fiber.interrupt(second.fiber))
    })
  })

  it("new credentials hold for new requests, and a watch that stands goes on", async () => {
    const { admin, changing } = server()
    const { resourceVersion } = await run(changing.api.list(configMaps, { namespace: "default" }))
    const { fiber, next } = follow(changing.api, resourceVersion, "credentials")
    const create = (name: string) =>
      run(admin.create(configMaps, configMap(name, {}, { labels: { of: "credentials" } }), "default"))
    await create("before")
    expect(await next()).toBe("Changed before")
    changing.become("unknown")
    expect(await failureOf(changing.api.list(configMaps, { namespace: "default" }))).toMatchObject({
      reason: "Unauthorized"
    })
    await create("after")
    expect(await next()).toBe("Changed after")
    changing.become("reader")
    expect((await run(changing.api.list(configMaps, { namespace: "default" }))).items.length).toBeGreaterThan(1)
    await run(Fiber.interrupt(fiber))
  })

  it("a token is granted for the time that is asked for, and known at once", async () => {
    const { claims } = await server().grant(3_600)
    expect(claims?.account).toEqual({ namespace: "default", name: "reader" })
    expect((claims?.validity.until ?? 0) - (claims?.issuedAt ?? 0)).toBe(3_600_000)
    await expect(server().grant(599)).rejects.toThrow(/the member grants no token: .*10 minutes/u)
  })

  describe("a log", () => {
    const logOf = (name: string) => Stream.runCollect(server().logs.podLog("default", name, { container: "c" }))

    it("is empty before a node has the pod, and names the pod that there is not", async () => {
      const pod = {
        apiVersion: "v1",
        kind: "Pod",
        metadata: { name: "unscheduled" },
        spec: { containers: [{ name: "c", image: "x" }], schedulerName: "none" }
      }
      await run(server().admin.create(pods, pod, "default"))
      expect(await run(logOf("unscheduled"))).toEqual([])
      await run(server().admin.delete(pods, "unscheduled", { namespace: "default", gracePeriodSeconds: 0 }))
      expect(await failureOf(logOf("unscheduled"))).toMatchObject({
        reason: "NotFound",
        detail: 'pods "unscheduled" not found'
      })
    })
  })

  describe("whoever asks", () => {
    it("is Unauthorized when the server does not know them", async () => {
      expect(await failureOf(server().unknown.list(configMaps))).toMatchObject({ reason: "Unauthorized", code: 401 })
    })

    it("may do what they were granted, and is Forbidden the rest by name", async () => {
      const { admin, reader } = server()
      await run(admin.create(configMaps, configMap("readable", { a: "1" }), "default"))
      expect((await run(reader.get(configMaps, "readable", "default")))["data"]).toEqual({ a: "1" })
      const { resourceVersion } = await run(reader.list(configMaps, { namespace: "default" }))
      await run(admin.create(configMaps, configMap("seen"), "default"))
      const seen = await run(
        Stream.runHead(
          Stream.filter(
            reader.watch(configMaps, resourceVersion, { namespace: "default" }),
            ({ _tag }) => _tag === "Changed"
          )
        )
      )
      expect(seen._tag).toBe("Some")
      const refused = await failureOf(reader.create(configMaps, configMap("forbidden"), "default"))
      expect(refused).toMatchObject({
        reason: "Forbidden",
        code: 403,
        detail: expect.stringContaining("system:serviceaccount:default:reader")
      })
      expect(await failureOf(reader.list(configMaps))).toMatchObject({ reason: "Forbidden" })
    })
  })
}
