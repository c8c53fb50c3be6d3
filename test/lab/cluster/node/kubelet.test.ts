import { readFile } from "node:fs/promises"
import * as path from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Redacted } from "effect"
import {
  type ContainerContext,
  type ContainerProgram,
  signalsReady
} from "../../../../lab/cluster/node/container-program.ts"
import type { KubeObject } from "../../../../lab/cluster/schema/kube-object.ts"
import { configMaps, nodes, pods, secrets } from "../../../../lab/cluster/store/resource-refs.ts"
import { isPodReady, podIpOf, podPhase } from "../../../../lab/cluster/store/store-access.ts"
import { asObject, asObjects, at } from "../../../../src/domain/json.ts"
import { untilTrue } from "../../../support/until-true.ts"
import { nextLine, pod, podGone, podWhere, talk, testCluster } from "./test-cluster.ts"

const onNode = (name: string): object => ({
  nodeAffinity: {
    requiredDuringSchedulingIgnoredDuringExecution: {
      nodeSelectorTerms: [{ matchFields: [{ key: "metadata.name", operator: "In", values: [name] }] }]
    }
  }
})
const forever: ContainerProgram = () => Effect.never
const statuses = (object: KubeObject) => asObjects(at(object, "status", "containerStatuses"))
const condition = (object: KubeObject, type: string) =>
  asObjects(at(object, "status", "conditions")).find((c) => c["type"] === type)?.["status"]

/** A program that gives its context to the test and then runs for ever. */
const captured = () => {
  const context = Deferred.makeUnsafe<ContainerContext>()
  const program: ContainerProgram = (container) =>
    Deferred.succeed(context, container).pipe(Effect.andThen(Effect.never))
  return { context: Deferred.await(context), program }
}

describe("a pod's life", () => {
  it.live("an unscheduled pod gets the node, its own address, sorted container statuses and true conditions", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const { kubelet, store } = yield* testCluster(201, { "registry:5000/a/app": forever })
        const containers = ["zeta", "alpha"].map((name) => ({ name, image: "registry:5000/a/app:1.2" }))
        store.create(pods, pod("one", { containers }))
        store.create(pods, pod("two", { containers }))
        const first = yield* podWhere(store, "one")
        const second = yield* podWhere(store, "two")
        assert.strictEqual(at(first, "spec", "nodeName"), "node-1")
        assert.strictEqual(podPhase(first), "Running")
        assert.deepStrictEqual(at(first, "status", "podIPs"), [{ ip: podIpOf(first) }])
        assert.match(podIpOf(first) ?? "", /^127\.201\.\d+\.\d+$/u)
        assert.notStrictEqual(podIpOf(first), podIpOf(second))
        assert.deepStrictEqual(
          statuses(first).map((s) => s["name"]),
          ["alpha", "zeta"]
        )
        for (const status of statuses(first)) {
          assert.match(String(status["containerID"]), /^containerd:\/\/[0-9a-f]{64}$/u)
          assert.deepStrictEqual([status["ready"], status["started"], status["restartCount"]], [true, true, 0])
        }
        for (const type of ["Ready", "ContainersReady", "Initialized", "PodScheduled"])
          assert.strictEqual(condition(first, type), "True")
        assert.strictEqual(kubelet.containers().length, 4)
        const node = store.get(nodes, undefined, "node-1")
        assert.strictEqual(at(node, "status", "allocatable", "pods"), "110")
        assert.strictEqual(node?.metadata.labels?.["kubernetes.io/hostname"], "node-1")
      })
    )
  )

  it.live("a container that is added to a running pod runs beside its target, once, and ends with it", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const { context, program } = captured()
        const restarts = Deferred.makeUnsafe<void>()
        const app: ContainerProgram = () => Effect.as(Deferred.await(restarts), 0)
        const { kubelet, store } = yield* testCluster(215, { app, debug: program })
        const containers = [{ name: "app", image: "app", env: [{ name: "NAME", value: "target" }] }]
        store.create(pods, pod("one", { containers, restartPolicy: "Never" }))
        const running = yield* podWhere(store, "one")
        const added = [
          { name: "debug-1", image: "debug", targetContainerName: "app", env: [{ name: "OWN", value: "yes" }] },
          { name: "unknown", image: "nothing" }
        ]
        const spec = { ...asObject(running["spec"]), ephemeralContainers: added }
        store.updateEphemeralContainers(pods, { ...running, spec })
        const debug = yield* context
        assert.deepStrictEqual(
          [debug.containerName, debug.targetContainerName, debug.podIp, debug.env.get("OWN")],
          ["debug-1", "app", podIpOf(running), "yes"]
        )
        assert.deepStrictEqual(
          asObjects(at(debug.pod, "spec", "ephemeralContainers")).map(({ name }) => name),
          ["debug-1", "unknown"]
        )
        const stateOf = (object: KubeObject, name: string) =>
          asObjects(at(object, "status", "ephemeralContainerStatuses")).find((one) => one["name"] === name)?.["state"]
        const beside = yield* podWhere(store, "one", (found) => at(stateOf(found, "unknown"), "waiting") !== undefined)
        assert.isDefined(at(stateOf(beside, "debug-1"), "running"))
        assert.strictEqual(condition(beside, "Ready"), "True")
        assert.strictEqual(kubelet.podLogs("default", "one", "debug-1")._tag, "Lines")
        yield* Deferred.succeed(restarts, undefined)
        const over = yield* podWhere(store, "one", (found) => podPhase(found) === "Succeeded")
        assert.strictEqual(at(stateOf(over, "debug-1"), "terminated", "exitCode"), 143)
      })
    )
  )

  it.live("an address is not given to the next pod when its first holder has gone", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const { store } = yield* testCluster(202, { app: forever })
        store.create(pods, pod("one", { containers: [{ name: "c", image: "app" }] }))
        const first = podIpOf(yield* podWhere(store, "one"))
        store.delete(pods, "default", "one")
        yield* podGone(store, "one")
        store.create(pods, pod("one", { containers: [{ name: "c", image: "app" }] }))
        assert.notStrictEqual(podIpOf(yield* podWhere(store, "one")), first)
      })
    )
  )

  it.live("a program that signals is running but not ready until it does", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const context = Deferred.makeUnsafe<ContainerContext>()
        const program = signalsReady((container) =>
          Deferred.succeed(context, container).pipe(Effect.andThen(Effect.never))
        )
        const { store } = yield* testCluster(203, { app: program })
        store.create(pods, pod("p", { containers: [{ name: "c", image: "app" }] }))
        const running = yield* podWhere(store, "p", (p) => podPhase(p) === "Running")
        const container = yield* Deferred.await(context)
        assert.strictEqual(isPodReady(running), false)
        container.ready()
        assert.strictEqual(statuses(yield* podWhere(store, "p"))[0]?.["ready"], true)
      })
    )
  )

  it.live("deletion interrupts the programs, waits for their clean-up and only then removes the object", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const order: Array<string> = []
        const gate = yield* Deferred.make<void>()
        const program: ContainerProgram = () =>
          Effect.never.pipe(
            Effect.onInterrupt(() =>
              Effect.sync(() => order.push("stopping")).pipe(
                Effect.andThen(Deferred.await(gate)),
                Effect.andThen(Effect.sync(() => order.push("stopped")))
              )
            )
          )
        const { store } = yield* testCluster(204, { app: program })
        store.watch(pods, {}, (event) => {
          if (event.type === "DELETED") order.push("removed")
        })
        store.create(pods, pod("p", { containers: [{ name: "c", image: "app" }] }))
        yield* podWhere(store, "p")
        store.delete(pods, "default", "p")
        assert.isString(store.get(pods, "default", "p")?.metadata.deletionTimestamp)
        yield* Deferred.succeed(gate, undefined)
        yield* podGone(store, "p")
        assert.deepStrictEqual(order, ["stopping", "stopped", "removed"])
      })
    )
  )

  it.live("a program that ignores its interruption does not hold the pod longer than the grace period", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const { store } = yield* testCluster(205, {
          app: () => Effect.never.pipe(Effect.onInterrupt(() => Effect.never))
        })
        store.create(pods, pod("p", { terminationGracePeriodSeconds: 0, containers: [{ name: "c", image: "app" }] }))
        yield* podWhere(store, "p")
        store.delete(pods, "default", "p")
        yield* podGone(store, "p")
      })
    )
  )

  it.live("exit codes make the phase when nothing restarts", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const { store } = yield* testCluster(206, {
          ok: () => Effect.succeed(0),
          bad: () => Effect.succeed(3),
          dead: () => Effect.die("boom")
        })
        for (const image of ["ok", "bad", "dead"]) {
          store.create(pods, pod(image, { restartPolicy: "Never", containers: [{ name: "c", image }] }))
        }
        const code = (p: KubeObject) => at(statuses(p)[0], "state", "terminated", "exitCode")
        assert.strictEqual(code(yield* podWhere(store, "ok", (p) => podPhase(p) === "Succeeded")), 0)
        assert.strictEqual(code(yield* podWhere(store, "bad", (p) => podPhase(p) === "Failed")), 3)
        assert.strictEqual(code(yield* podWhere(store, "dead", (p) => podPhase(p) === "Failed")), 1)
      })
    )
  )

  it.live("a container that fails has the end of its log as its message, if its specification asks for it", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const fails = (context: ContainerContext) =>
          Effect.sync(() => {
            for (let line = 1; line <= 100; line++) context.log(`line ${line}`)
            return 1
          })
        const { store } = yield* testCluster(229, { fails })
        const container = { name: "c", image: "fails" }
        const asks = { ...container, terminationMessagePolicy: "FallbackToLogsOnError" }
        store.create(pods, pod("silent", { restartPolicy: "Never", containers: [container] }))
        store.create(pods, pod("asks", { restartPolicy: "Never", containers: [asks] }))
        const message = (p: KubeObject) => at(statuses(p)[0], "state", "terminated", "message")
        const over = (name: string) => podWhere(store, name, (p) => podPhase(p) === "Failed")
        const lines = Array.from({ length: 80 }, (_, index) => `line ${index + 21}\n`)
        assert.strictEqual(message(yield* over("asks")), lines.join(""))
        assert.isUndefined(message(yield* over("silent")))
      })
    )
  )

  it.live("a container that ends is restarted under a new id, OnFailure only if it failed", () =>
    Effect.scoped(
      Effect.gen(function* () {
        let runs = 0
        const { store } = yield* testCluster(207, { app: () => Effect.sync(() => (++runs < 3 ? 1 : 0)) })
        store.create(pods, pod("p", { restartPolicy: "OnFailure", containers: [{ name: "c", image: "app" }] }))
        const ids = new Set<unknown>()
        store.watch(pods, {}, (event) => {
          const id = statuses(event.object)[0]?.["containerID"]
          if (id !== undefined) ids.add(id)
        })
        const done = yield* podWhere(store, "p", (p) => podPhase(p) === "Succeeded")
        assert.strictEqual(statuses(done)[0]?.["restartCount"], 2)
        assert.strictEqual(at(statuses(done)[0], "lastState", "terminated", "exitCode"), 1)
        assert.strictEqual(ids.size, 3)
      })
    )
  )

  it.live("an unknown image waits with ErrImagePull and a sentence that lists the known ones", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const { store } = yield* testCluster(208, { app: forever })
        store.create(pods, pod("p", { containers: [{ name: "c", image: "nope:1" }] }))
        const waiting = yield* podWhere(
          store,
          "p",
          (p) => at(statuses(p)[0], "state", "waiting", "reason") === "ErrImagePull"
        )
        assert.strictEqual(
          at(statuses(waiting)[0], "state", "waiting", "message"),
          'failed to pull image "nope:1": not found; images of this node: app'
        )
        yield* podWhere(store, "p", (p) => at(statuses(p)[0], "state", "waiting", "reason") === "ImagePullBackOff")
        assert.strictEqual(podPhase(waiting), "Pending")
      })
    )
  )

  it.live.each<readonly [object, object, string]>([
    [{}, {}, "0"],
    [{ runAsUser: 1_000 }, {}, "1000"],
    [{ runAsUser: 1_000, runAsNonRoot: true }, { runAsUser: 0, runAsNonRoot: false }, "0"],
    [{ runAsNonRoot: true }, {}, "container has runAsNonRoot and image will run as root (pod:"],
    [{ runAsNonRoot: true }, { runAsUser: 0 }, "container's runAsUser breaks non-root policy (pod:"]
  ])("a container of a pod with %j and with %j of its own is judged: %s", ([ofPod, own, judged]) =>
    Effect.scoped(
      Effect.gen(function* () {
        const { store } = yield* testCluster(215, {
          app: ({ log, userId }) =>
            Effect.as(
              Effect.sync(() => log(String(userId))),
              1
            )
        })
        const terminationMessagePolicy = "FallbackToLogsOnError"
        const container = { name: "c", image: "app", securityContext: own, terminationMessagePolicy }
        store.create(pods, pod("p", { restartPolicy: "Never", securityContext: ofPod, containers: [container] }))
        const said = (p: KubeObject): string => {
          const [{ state } = {}] = statuses(p)
          const refused = at(state, "waiting", "reason") === "CreateContainerConfigError"
          return String(at(state, refused ? "waiting" : "terminated", "message") ?? "")
        }
        const told = said(yield* podWhere(store, "p", (p) => said(p) !== ""))
        assert.strictEqual(told.trim().slice(0, judged.length), judged)
      })
    )
  )

  it.live("init containers run first, one after the other; a failing one fails a pod that never restarts", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const order: Array<string> = []
        const note: ContainerProgram = (c) => Effect.sync(() => order.push(c.containerName)).pipe(Effect.as(0))
        const { store } = yield* testCluster(209, { note, bad: () => Effect.succeed(1) })
        const init = (image: string) => ["i1", "i2"].map((name) => ({ name, image }))
        store.create(
          pods,
          pod("p", { restartPolicy: "Never", initContainers: init("note"), containers: [{ name: "c", image: "note" }] })
        )
        yield* podWhere(store, "p", (p) => podPhase(p) === "Succeeded")
        assert.deepStrictEqual(order, ["i1", "i2", "c"])
        store.create(
          pods,
          pod("q", { restartPolicy: "Never", initContainers: init("bad"), containers: [{ name: "c", image: "note" }] })
        )
        yield* podWhere(store, "q", (p) => podPhase(p) === "Failed")
        assert.strictEqual(order.length, 3)
      })
    )
  )

  it.live("a sidecar runs before the next init container, begins again when it ends, and is the last to go", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const told: Array<string> = []
        const [ready, done] = [Deferred.makeUnsafe<void>(), Deferred.makeUnsafe<void>()]
        const end = (what: string) => Effect.addFinalizer(() => Effect.sync(() => told.push(`${what} ends`)))
        let runs = 0
        const first: ContainerProgram = () => Effect.andThen(end("first"), Effect.never)
        const second: ContainerProgram = signalsReady(({ ready: isReady }) =>
          Effect.gen(function* () {
            told.push("second begins")
            if (runs++ === 0) return 1
            yield* end("second")
            yield* Deferred.await(ready)
            isReady()
            return yield* Effect.never
          })
        )
        const init: ContainerProgram = () => Effect.sync(() => (told.push("init"), 0))
        const app: ContainerProgram = () => Effect.andThen(end("app"), Effect.as(Deferred.await(done), 0))
        const { store } = yield* testCluster(216, { init, first, second, app })
        const container = (name: string) => ({ name, image: name })
        const sidecar = (name: string) => ({ ...container(name), restartPolicy: "Always" })
        const initContainers = [sidecar("first"), container("init"), sidecar("second")]
        store.create(pods, pod("p", { restartPolicy: "Never", initContainers, containers: [container("app")] }))
        const status = (object: KubeObject, name: string) =>
          asObjects(at(object, "status", "initContainerStatuses")).find((one) => one["name"] === name)
        const isBack = (found: KubeObject) => status(found, "second")?.["restartCount"] === 1
        const running = yield* podWhere(store, "p", (found) => isBack(found) && podPhase(found) === "Running")
        assert.deepStrictEqual([condition(running, "Initialized"), condition(running, "Ready")], ["True", "False"])
        yield* Deferred.succeed(ready, undefined)
        yield* podWhere(store, "p", isPodReady)
        yield* Deferred.succeed(done, undefined)
        const over = yield* podWhere(store, "p", (found) => podPhase(found) === "Succeeded")
        assert.strictEqual(at(status(over, "first"), "state", "terminated", "exitCode"), 143)
        const story = ["init", "second begins", "second begins", "app ends", "second ends", "first ends"]
        assert.deepStrictEqual(told, story)
      })
    )
  )

  it.live("a wrong spec, a foreign node selector and a full node are said in the PodScheduled condition", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const { store } = yield* testCluster(210, { app: forever }, { podCapacity: 1 })
        const refused = (p: KubeObject) => condition(p, "PodScheduled") === "False"
        const message = (p: KubeObject) => String(asObjects(at(p, "status", "conditions"))[0]?.["message"])
        const containers = [{ name: "c", image: "app" }]
        store.create(pods, pod("wrong", { containers: [{ name: "c", image: 7 }] }))
        assert.match(message(yield* podWhere(store, "wrong", refused)), /Expected string[\s\S]*image/u)
        store.create(pods, pod("far", { nodeSelector: { "kubernetes.io/hostname": "node-2" }, containers }))
        assert.match(message(yield* podWhere(store, "far", refused)), /hostname=node-2 does not match node node-1/u)
        store.create(pods, pod("elsewhere", { affinity: onNode("node-2"), containers }))
        assert.match(message(yield* podWhere(store, "elsewhere", refused)), /node-1 does not match .* node affinity/u)
        store.create(pods, pod("first", { affinity: onNode("node-1"), containers }))
        yield* podWhere(store, "first")
        store.create(pods, pod("second", { containers }))
        assert.match(message(yield* podWhere(store, "second", refused)), /too many pods/u)
        store.delete(pods, "default", "first")
        yield* podWhere(store, "second")
      })
    )
  )
})

describe("environment and files", () => {
  it.live("env comes from values, fields, ConfigMaps and Secrets, expanded; a missing ConfigMap is waited for", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const app = captured()
        const { store } = yield* testCluster(211, { app: app.program }, { apiServer: { ip: "127.0.0.1", port: 6443 } })
        store.create(secrets, {
          apiVersion: "v1",
          kind: "Secret",
          metadata: { name: "s", namespace: "default" },
          data: { key: "cGFzcw==" }
        })
        store.create(
          pods,
          pod("p", {
            containers: [
              {
                name: "c",
                image: "app",
                command: ["run", "$(NAME)", "$$(NAME)", "$(MISSING)"],
                args: ["--x"],
                envFrom: [
                  { prefix: "P_", configMapRef: { name: "cm" } },
                  { secretRef: { name: "none", optional: true } }
                ],
                env: [
                  { name: "NAME", valueFrom: { fieldRef: { fieldPath: "metadata.name" } } },
                  { name: "IP", valueFrom: { fieldRef: { fieldPath: "status.podIP" } } },
                  { name: "PASS", valueFrom: { secretKeyRef: { name: "s", key: "key" } } },
                  { name: "BOTH", value: "$(NAME)-$(P_a)" }
                ]
              }
            ]
          })
        )
        const waiting = yield* podWhere(
          store,
          "p",
          (p) => at(statuses(p)[0], "state", "waiting", "reason") === "CreateContainerConfigError"
        )
        assert.strictEqual(at(statuses(waiting)[0], "state", "waiting", "message"), 'configmap "cm" not found')
        store.create(configMaps, {
          apiVersion: "v1",
          kind: "ConfigMap",
          metadata: { name: "cm", namespace: "default" },
          data: { a: "1" }
        })
        const context = yield* app.context
        assert.deepStrictEqual(Object.fromEntries(context.env), {
          KUBERNETES_SERVICE_HOST: "127.0.0.1",
          KUBERNETES_SERVICE_PORT: "6443",
          KUBERNETES_SERVICE_PORT_HTTPS: "6443",
          P_a: "1",
          NAME: "p",
          IP: context.podIp,
          PASS: "pass",
          BOTH: "p-1"
        })
        assert.deepStrictEqual(context.args, ["run", "p", "$(NAME)", "$(MISSING)", "--x"])
      })
    )
  )

  it.live("volumes are files under the root, follow their ConfigMap, and hold a service account token", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const app = captured()
        const tokens: Array<string> = []
        const { store } = yield* testCluster(
          212,
          { app: app.program },
          {
            issueToken: (request) =>
              Effect.sync(() => {
                tokens.push(`${request.namespace}/${request.serviceAccountName}/${request.podName}`)
                return Redacted.make("token-1")
              })
          }
        )
        const cm = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "cm", namespace: "default" } }
        store.create(configMaps, { ...cm, data: { "a.txt": "one", "b.txt": "gone soon" } })
        store.create(
          pods,
          pod("p", {
            serviceAccountName: "runner",
            volumes: [
              { name: "v", configMap: { name: "cm" } },
              { name: "e", emptyDir: {} }
            ],
            containers: [
              {
                name: "c",
                image: "app",
                volumeMounts: [
                  { name: "v", mountPath: "/etc/app" },
                  { name: "e", mountPath: "/data" }
                ]
              }
            ]
          })
        )
        const { root } = yield* app.context
        const read = (file: string) =>
          Effect.promise(() => readFile(path.join(root, file), "utf8").catch(() => "missing"))
        assert.strictEqual(yield* read("etc/app/a.txt"), "one")
        assert.strictEqual(yield* read("etc/hostname"), "p\n")
        assert.strictEqual(yield* read("var/run/secrets/kubernetes.io/serviceaccount/token"), "token-1")
        assert.strictEqual(yield* read("var/run/secrets/kubernetes.io/serviceaccount/namespace"), "default")
        assert.deepStrictEqual(tokens, ["default/runner/p"])
        store.modify(configMaps, "default", "cm", (draft) => {
          draft["data"] = { "a.txt": "two" }
        })
        const both = Effect.all([read("etc/app/a.txt"), read("etc/app/b.txt")])
        yield* Effect.promise(() =>
          untilTrue("the changed files", async () => (await Effect.runPromise(both)).join() === "two,missing")
        )
      })
    )
  )
})

describe("logs", () => {
  it.live("are read, followed to the end of the container, and explained when there are none", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const context = yield* Deferred.make<ContainerContext>()
        const end = yield* Deferred.make<number>()
        const { kubelet, store } = yield* testCluster(213, {
          app: (c) => Deferred.succeed(context, c).pipe(Effect.andThen(Deferred.await(end)))
        })
        store.create(pods, pod("p", { restartPolicy: "Never", containers: [{ name: "c", image: "app" }] }))
        const container = yield* Deferred.await(context)
        container.log("first")
        const logs = kubelet.podLogs("default", "p", undefined, { follow: true })
        assert.strictEqual(logs._tag, "Lines")
        if (logs._tag !== "Lines") return
        const lines = logs.lines[Symbol.asyncIterator]()
        assert.strictEqual(yield* nextLine(lines), "first")
        const second = nextLine(lines)
        container.log("second")
        assert.strictEqual(yield* second, "second")
        yield* Deferred.succeed(end, 0)
        assert.strictEqual(yield* nextLine(lines), undefined)
        const message = (found: ReturnType<typeof kubelet.podLogs>) =>
          found._tag === "Lines" ? "lines" : `${found._tag}: ${found.message}`
        assert.strictEqual(message(kubelet.podLogs("default", "p", "c")), "lines")
        assert.strictEqual(message(kubelet.podLogs("default", "q", undefined)), 'NotFound: pods "q" not found')
        assert.strictEqual(
          message(kubelet.podLogs("default", "p", "x")),
          "BadRequest: container x is not valid for pod p"
        )
        assert.match(
          message(kubelet.podLogs("default", "p", "c", { previous: true })),
          /^BadRequest: previous terminated container/u
        )
      })
    )
  )
})

describe("an agent's view", () => {
  it.live("of an agent that is not root is of nothing, and it redirects nothing", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const agent = captured()
        const { store } = yield* testCluster(216, { app: forever, agent: agent.program })
        store.create(pods, pod("p", { containers: [{ name: "c", image: "app", env: [{ name: "A", value: "1" }] }] }))
        const id = String(statuses(yield* podWhere(store, "p"))[0]?.["containerID"])
        const containers = [{ name: "a", image: "agent", securityContext: { runAsUser: 1_000 } }]
        store.create(pods, pod("q", { containers }))
        const target = (yield* agent.context).target(id)
        assert.strictEqual(target?.env.size, 0)
        assert.throws(() => target?.redirect(80, () => {}), /you must be root/u)
      })
    )
  )

  it.live("finds a running container by its id and takes its connections; not after its end", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const app: ContainerProgram = (container) =>
          container
            .listen(8080, (socket) => socket.end("from the app"))
            .pipe(Effect.orDie, Effect.andThen(Effect.never))
        const { kubelet, store } = yield* testCluster(214, { app })
        store.create(pods, pod("p", { containers: [{ name: "c", image: "app", env: [{ name: "A", value: "1" }] }] }))
        const ready = yield* podWhere(store, "p")
        const id = String(statuses(ready)[0]?.["containerID"])
        const target = kubelet.target(id)
        assert.strictEqual(target, kubelet.target(id.replace("containerd://", "")))
        assert.deepStrictEqual([target?.env.get("A"), target?.podIp], ["1", podIpOf(ready)])
        const end = target?.redirect(8080, (connection) =>
          connection.socket.end(`taken at ${connection.destination.port}`)
        )
        const endpoint = { ip: podIpOf(ready) ?? "", port: 8080 }
        assert.strictEqual(yield* Effect.promise(() => talk(endpoint, "")), "taken at 8080")
        end?.()
        assert.strictEqual(yield* Effect.promise(() => talk(endpoint, "")), "from the app")
        store.delete(pods, "default", "p")
        yield* podGone(store, "p")
        assert.isUndefined(kubelet.target(id))
        assert.strictEqual(yield* Effect.promise(() => talk(endpoint, "")), "ECONNREFUSED")
        assert.strictEqual(kubelet.containers().length, 0)
      })
    )
  )
})
