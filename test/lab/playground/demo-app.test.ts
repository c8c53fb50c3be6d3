import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { serviceEntry } from "../../../lab/cluster/network/service-entry.ts"
import { endpointSlices, pods, services } from "../../../lab/cluster/store/resource-refs.ts"
import { podIpOf, podPhase } from "../../../lab/cluster/store/store-access.ts"
import { demoApp } from "../../../lab/playground/demo-app.ts"
import { asObject, asString, at } from "../../../src/domain/json.ts"
import { nextLine, pod, podGone, podWhere, talk, testCluster, until } from "../cluster/node/test-cluster.ts"

const fetchText = (url: string, init: RequestInit = {}) =>
  Effect.promise(() =>
    fetch(url, { ...init, headers: { connection: "close" } }).then(
      (response) => response.text(),
      () => "no connection"
    )
  )

const demo = (name: string, env: Readonly<Record<string, string>>) =>
  pod(
    name,
    {
      containers: [
        {
          name: "app",
          image: "demo",
          ports: [{ name: "http", containerPort: 80 }],
          env: Object.entries(env).map(([key, value]) => ({ name: key, value }))
        }
      ]
    },
    { labels: { app: "demo" } }
  )

const service = {
  apiVersion: "v1",
  kind: "Service",
  metadata: { name: "web", namespace: "default" },
  spec: {
    selector: { app: "demo" },
    ports: [
      { name: "http", port: 8000, targetPort: "http" },
      { name: "tcp", port: 9000, targetPort: 9001 }
    ]
  }
}

describe("the demo app behind a service", () => {
  it.live("answers with its cluster's name; the entry takes the ready pods in turn and follows them", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const { kubelet, store } = yield* testCluster(230, { demo: demoApp })
        store.create(services, service)
        store.create(pods, demo("a", { GREETING: "hi", CLUSTER: "a", TCP_PORT: "9001" }))
        store.create(pods, demo("b", { CLUSTER: "b", TCP_PORT: "9001" }))
        const a = yield* podWhere(store, "a")
        const b = yield* podWhere(store, "b")
        const entry = yield* serviceEntry(store, { namespace: "default", service: "web", port: 8000 }, kubelet.reach)
        assert.strictEqual(
          yield* fetchText(`${entry.url}/x?y=1`, { method: "POST", body: "z" }),
          "hi from a: POST /x?y=1\nrequest 1\n"
        )
        assert.strictEqual(yield* fetchText(`${entry.url}/`), "hello from b: GET /\nrequest 1\n")
        assert.strictEqual(yield* fetchText(`${entry.url}/`), "hi from a: GET /\nrequest 2\n")
        const tcp = yield* serviceEntry(store, { namespace: "default", service: "web", port: 9000 }, kubelet.reach)
        assert.strictEqual(yield* Effect.promise(() => talk(tcp.endpoint, "one\ntwo\n")), "hi from a\na: one\na: two\n")

        const clusterIp = asString(at(store.get(services, "default", "web"), "spec", "clusterIP")) ?? ""
        store.create(services, {
          ...service,
          metadata: { ...service.metadata, name: "all" },
          spec: { ...asObject(service["spec"]), clusterIP: "None" }
        })
        yield* until(store, [endpointSlices], () =>
          kubelet.resolve("default", "all")?.length === 2 ? true : undefined
        )
        assert.sameMembers([...(kubelet.resolve("default", "all") ?? [])], [podIpOf(a) ?? "", podIpOf(b) ?? ""])
        for (const name of [
          "web",
          "web.default",
          "web.default.svc",
          "web.default.svc.cluster.local",
          "web.default.svc.cluster.local."
        ]) {
          assert.deepStrictEqual(kubelet.resolve("default", name), [clusterIp])
        }
        for (const name of ["web.other", "nothing", "web.default.example.org", "example.org", ""]) {
          assert.isUndefined(kubelet.resolve("default", name))
        }
        store.delete(pods, "default", "a")
        yield* podGone(store, "a")
        assert.strictEqual(yield* fetchText(`${entry.url}/`), "hello from b: GET /\nrequest 2\n")
        store.delete(pods, "default", "b")
        yield* podGone(store, "b")
        assert.strictEqual(yield* fetchText(`${entry.url}/`), "no connection")
        const nobody = { ip: clusterIp, port: 8000 }
        assert.deepStrictEqual(
          [kubelet.resolve("default", "web"), kubelet.resolve("default", "all"), kubelet.reach(nobody)],
          [[clusterIp], [], nobody]
        )
      })
    )
  )

  it.live("an entry to nothing says what is there", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const {
          kubelet: { reach },
          store
        } = yield* testCluster(231, { demo: demoApp })
        store.create(services, service)
        store.create(services, {
          ...service,
          metadata: { ...service.metadata, name: "db" },
          spec: { clusterIP: "None", ports: [{ port: 80 }] }
        })
        assert.match(
          (yield* Effect.flip(serviceEntry(store, { namespace: "default", service: "nope", port: 80 }, reach))).message,
          /default\/nope: there is no such service/u
        )
        assert.match(
          (yield* Effect.flip(serviceEntry(store, { namespace: "default", service: "web", port: 81 }, reach))).message,
          /no port 81, only 8000, 9000/u
        )
        assert.match(
          (yield* Effect.flip(serviceEntry(store, { namespace: "default", service: "db", port: 80 }, reach))).message,
          /no cluster IP/u
        )
      })
    )
  )

  it.live("a port that is none ends the container with a sentence in its log", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const { kubelet, store } = yield* testCluster(232, { demo: demoApp })
        const spec = demo("p", { PORT: "eighty" })
        spec["spec"] = { ...(spec["spec"] as object), restartPolicy: "Never" }
        store.create(pods, spec)
        yield* podWhere(store, "p", (p) => podPhase(p) === "Failed")
        const logs = kubelet.podLogs("default", "p", "app")
        assert.strictEqual(logs._tag, "Lines")
        if (logs._tag !== "Lines") return
        const line = yield* nextLine(logs.lines[Symbol.asyncIterator]())
        assert.strictEqual(line, 'PORT: "eighty" found, a port from 1 to 65535 wanted')
      })
    )
  )
})
