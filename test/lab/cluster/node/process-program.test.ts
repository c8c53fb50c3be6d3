import { readFileSync } from "node:fs"
import * as net from "node:net"
import { fileURLToPath } from "node:url"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Scope } from "effect"
import { processProgram } from "../../../../lab/cluster/node/process-program.ts"
import type { KubeObject } from "../../../../lab/cluster/schema/kube-object.ts"
import { pods } from "../../../../lab/cluster/store/resource-refs.ts"
import { podIpOf, podPhase } from "../../../../lab/cluster/store/store-access.ts"
import { asObjects, at } from "../../../../src/domain/json.ts"
import { untilTrue } from "../../../support/until-true.ts"
import { nextLine, pod, podGone, podWhere, testCluster } from "./test-cluster.ts"

const script = fileURLToPath(new URL("child.mjs", import.meta.url))
const child = (mode: string, readyWhen?: (line: string) => boolean) =>
  processProgram({
    command: (container) => [process.execPath, script, mode, container.podIp],
    ...(readyWhen === undefined ? {} : { readyWhen })
  })
/** A zombie does not count as alive: the new parent of an orphan may never ask for its exit code. */
const isAlive = (pid: number): boolean => {
  try {
    return !/^\d+ \(.*\) [ZX] /su.test(readFileSync(`/proc/${pid}/stat`, "utf8"))
  } catch {
    return false
  }
}
const startedOf = (object: KubeObject) => {
  const status = asObjects(at(object, "status", "containerStatuses"))[0]
  return { started: status?.["started"], ready: status?.["ready"] }
}
const logLine = (logs: ReturnType<Effect.Success<ReturnType<typeof testCluster>>["kubelet"]["podLogs"]>) =>
  logs._tag === "Lines" ? logs.lines[Symbol.asyncIterator]() : assert.fail(logs.message)

describe("a process as program", () => {
  it.live("has exactly the container's environment, logs, is ready by a line, and its exit code counts", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const { kubelet, store } = yield* testCluster(233, { app: child("env", (line) => line === "ready") })
        store.create(
          pods,
          pod("p", {
            restartPolicy: "Never",
            containers: [{ name: "c", image: "app", env: [{ name: "ONLY", value: "this" }] }]
          })
        )
        const failed = yield* podWhere(store, "p", (p) => podPhase(p) === "Failed")
        assert.strictEqual(
          at(asObjects(at(failed, "status", "containerStatuses"))[0], "state", "terminated", "exitCode"),
          7
        )
        const lines = logLine(kubelet.podLogs("default", "p", "c"))
        assert.strictEqual(yield* nextLine(lines), '{"ONLY":"this"}')
      })
    )
  )

  it.live("a deleted pod's process gets SIGTERM and may clean up", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const { kubelet, store } = yield* testCluster(234, { app: child("polite", (line) => line.startsWith("ready")) })
        store.create(pods, pod("p", { containers: [{ name: "c", image: "app" }] }))
        yield* podWhere(store, "p")
        const lines = logLine(kubelet.podLogs("default", "p", "c", { follow: true }))
        const pid = Number((yield* nextLine(lines))?.split(" ")[1])
        assert.isTrue(isAlive(pid))
        store.delete(pods, "default", "p")
        assert.strictEqual(yield* nextLine(lines), "cleaning up")
        assert.isUndefined(yield* nextLine(lines))
        yield* podGone(store, "p")
        assert.isFalse(isAlive(pid))
      })
    )
  )

  it.live(
    "one that ignores SIGTERM is killed after the grace period, with its own children, when the kubelet ends",
    () =>
      Effect.gen(function* () {
        const scope = yield* Scope.make()
        const { kubelet, store } = yield* testCluster(
          235,
          { app: child("stubborn", (line) => line.startsWith("ready")) },
          {
            shutdownGraceSeconds: 0.2
          }
        ).pipe(Scope.provide(scope))
        store.create(pods, pod("p", { containers: [{ name: "c", image: "app" }] }))
        yield* podWhere(store, "p")
        const line = yield* nextLine(logLine(kubelet.podLogs("default", "p", "c")))
        const pids = (line ?? "").split(" ").slice(1).map(Number)
        assert.strictEqual(pids.length, 2)
        assert.isTrue(pids.every(isAlive))
        yield* Scope.close(scope, Exit.void)
        yield* Effect.promise(() => untilTrue("the end of both processes", () => !pids.some(isAlive)))
      })
  )

  it.live("an executable that does not exist is exit code 127", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const { store } = yield* testCluster(236, { app: processProgram({ command: () => ["/does/not/exist"] }) })
        store.create(pods, pod("p", { restartPolicy: "Never", containers: [{ name: "c", image: "app" }] }))
        const failed = yield* podWhere(store, "p", (p) => podPhase(p) === "Failed")
        assert.strictEqual(
          at(asObjects(at(failed, "status", "containerStatuses"))[0], "state", "terminated", "exitCode"),
          127
        )
      })
    )
  )

  it.live("readinessProbe over TCP decides: not ready before the port is open", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const { store } = yield* testCluster(237, { app: child("listen") })
        const probe = { tcpSocket: { port: "tcp" }, periodSeconds: 1 }
        store.create(
          pods,
          pod("p", {
            containers: [
              { name: "c", image: "app", ports: [{ name: "tcp", containerPort: 7070 }], readinessProbe: probe }
            ]
          })
        )
        const ready = yield* podWhere(store, "p")
        const socket = net.connect(7070, podIpOf(ready) ?? "")
        yield* Effect.callback<void>((resume) => void socket.once("connect", () => resume(Effect.void)))
        socket.destroy()
      })
    )
  )

  it.live("a startupProbe runs its command in the container, which is not ready before", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const shell = processProgram({
          runsAnything: true,
          command: ({ args: [program = "", ...args] }) => [program, ...args],
          env: () => ({ PATH: "/usr/bin:/bin" })
        })
        const { store } = yield* testCluster(228, { app: shell })
        const run = (name: string, command: string) => {
          const startupProbe = { exec: { command: ["sh", "-c", command] }, periodSeconds: 1, failureThreshold: 1 }
          const container = { name: "c", image: "app", command: ["sh", "-c", "sleep 0.5; touch here; sleep 60"] }
          store.create(pods, pod(name, { restartPolicy: "Never", containers: [{ ...container, startupProbe }] }))
        }
        run("p", "[ -f here ]")
        const running = yield* podWhere(store, "p", (p) => podPhase(p) === "Running")
        assert.deepStrictEqual(startedOf(running), { started: false, ready: false })
        const ready = yield* podWhere(store, "p")
        assert.deepStrictEqual(startedOf(ready), { started: true, ready: true })
        run("never", "exit 1")
        yield* podWhere(store, "never", (p) => podPhase(p) === "Failed")
      })
    )
  )
})
