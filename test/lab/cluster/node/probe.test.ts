import { Buffer } from "node:buffer"
import * as http from "node:http"
import * as https from "node:https"
import { assert } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import type { ProbeSpec } from "../../../../lab/cluster/node/pod-spec.ts"
import { awaitDeath, awaitStart, type ProbeWays, probeTarget, runProbe } from "../../../../lab/cluster/node/probe.ts"
import { it } from "../../../support/effect-it.ts"
import { listenLocally } from "../../../support/listen-locally.ts"
import { untilTrue } from "../../../support/until-true.ts"
import { selfSigned } from "./self-signed.ts"

const ways: ProbeWays = { reach: (endpoint) => endpoint, exec: () => Effect.die("no command here") }
const container = { name: "c", image: "i", ports: [{ name: "web", containerPort: 1 }] }

it.live("httpGet with scheme HTTPS accepts any certificate, and 2xx and 3xx only", () =>
  Effect.scoped(
    Effect.gen(function* () {
      const { cert, key } = yield* Effect.promise(selfSigned)
      let status = 500
      let asked = 0
      const answer: http.RequestListener = (request, response) => {
        asked++
        response.writeHead(request.url === "/health" ? status : 404).end(Buffer.from("ok"))
      }
      const server = https.createServer({ cert, key }, answer)
      const port = yield* Effect.acquireRelease(
        Effect.promise(() => listenLocally(server, "127.216.1.1")),
        () => Effect.sync(() => server.close())
      )
      const probe: ProbeSpec = {
        httpGet: { port, path: "/health", scheme: "HTTPS" },
        periodSeconds: 0.01,
        failureThreshold: 2
      }
      const target = probeTarget("readinessProbe", probe, container, "127.216.1.1")
      if ("unsupported" in target) return assert.fail(target.unsupported)
      const verdicts: Array<boolean> = []
      yield* Effect.forkScoped(runProbe(probe, target, ways, (verdict) => verdicts.push(verdict)))
      yield* Effect.promise(() => untilTrue("three probes", () => asked >= 3))
      assert.deepStrictEqual(verdicts, [])
      status = 302
      yield* Effect.promise(() => untilTrue("a verdict", () => verdicts.length >= 1))
      status = 503
      yield* Effect.promise(() => untilTrue("another verdict", () => verdicts.length >= 2))
      assert.deepStrictEqual(verdicts, [true, false])
    })
  )
)

it.live("a liveness probe is over after failureThreshold failures in a row, and no sooner", () =>
  Effect.scoped(
    Effect.gen(function* () {
      const answers = [200, 500, 500, 200, 500, 500, 500]
      let asked = 0
      const server = http.createServer((_request, response) => response.writeHead(answers[asked++] ?? 200).end())
      const port = yield* Effect.acquireRelease(
        Effect.promise(() => listenLocally(server, "127.216.1.2")),
        () => Effect.sync(() => server.close())
      )
      // The time-out never ends first: it would count as a failure.
      const probe: ProbeSpec = { httpGet: { port }, periodSeconds: 0.001, timeoutSeconds: 50, failureThreshold: 3 }
      const target = probeTarget("livenessProbe", probe, container, "127.216.1.2")
      if ("unsupported" in target) return assert.fail(target.unsupported)
      yield* awaitDeath(probe, target, ways)
      assert.strictEqual(asked, answers.length)
    })
  )
)

it("says which probes it cannot run", () => {
  const reason = (probe: ProbeSpec) => {
    const target = probeTarget("readinessProbe", probe, container, "127.0.0.1")
    return "unsupported" in target ? target.unsupported : target
  }
  assert.match(String(reason({ grpc: {} })), /only exec, httpGet and tcpSocket/u)
  assert.match(String(reason({ httpGet: { port: "nope" } })), /no port named "nope"/u)
  assert.match(String(reason({ httpGet: { port: 1, scheme: "FTP" } })), /"FTP" found, HTTP or HTTPS wanted/u)
  assert.deepStrictEqual(reason({ tcpSocket: { port: "web" } }), {
    endpoint: { ip: "127.0.0.1", port: 1 },
    http: undefined
  })
})

it.effect("a startup probe asks until its command succeeds, and gives up after failureThreshold periods", () =>
  Effect.gen(function* () {
    const probe: ProbeSpec = { exec: { command: ["ask", "it"] }, periodSeconds: 1, failureThreshold: 2 }
    const target = probeTarget("startupProbe", probe, container, "127.0.0.1")
    if ("unsupported" in target) return assert.fail(target.unsupported)
    const startsAt = (success: number) =>
      Effect.gen(function* () {
        const asked: Array<ReadonlyArray<string>> = []
        const exec = (command: ReadonlyArray<string>) => Effect.sync(() => (asked.push(command) === success ? 0 : 1))
        const waiting = yield* Effect.forkChild(awaitStart(probe, target, { ...ways, exec }))
        yield* TestClock.adjust("2 seconds")
        assert.deepStrictEqual(asked[0], ["ask", "it"])
        return { started: yield* Fiber.join(waiting), asked: asked.length }
      })
    assert.deepStrictEqual(yield* startsAt(3), { started: true, asked: 3 })
    assert.deepStrictEqual(yield* startsAt(100), { started: false, asked: 10 })
  })
)
