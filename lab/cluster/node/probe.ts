/**
 * Probes over HTTP and TCP and by commands, with a kubelet's thresholds and periods. The consequence of a verdict is
 * decided in `pod-worker.ts`. No `grpc`.
 */

import * as http from "node:http"
import * as https from "node:https"
import * as net from "node:net"
import { Effect } from "effect"
import type { Endpoint } from "../network/endpoint.ts"
import { kubernetesVersion } from "../wire/kubernetes-version.ts"
import { type ContainerSpec, portNumber, type ProbeSpec } from "./pod-spec.ts"

/** The longest period until the container is ready for the first time: people wait for it, so it is short. */
const startPeriodMs = 200

interface PortTarget {
  readonly endpoint: Endpoint
  readonly http: { readonly secure: boolean; readonly path: string } | undefined
}

type ProbeTarget = PortTarget | { readonly command: ReadonlyArray<string> }

/** The ways from the kubelet to a container. */
export interface ProbeWays {
  readonly reach: (endpoint: Endpoint) => Endpoint
  /** Runs a command in the container, and has its exit code. */
  readonly exec: (command: ReadonlyArray<string>) => Effect.Effect<number>
}

/** The target of the probe, or the reason that the kubelet cannot run it. */
export const probeTarget = (
  name: "readinessProbe" | "livenessProbe" | "startupProbe",
  probe: ProbeSpec,
  container: ContainerSpec,
  podIp: string
): ProbeTarget | { readonly unsupported: string } => {
  if (probe.exec !== undefined) return { command: probe.exec.command }
  const action = probe.httpGet ?? probe.tcpSocket
  if (action === undefined) return { unsupported: `${name}: only exec, httpGet and tcpSocket are supported here` }
  const port = portNumber(action.port, [container])
  if (port === undefined) return { unsupported: `${name}: the container has no port named "${action.port}"` }
  const scheme = (probe.httpGet?.scheme ?? "HTTP").toUpperCase()
  if (scheme !== "HTTP" && scheme !== "HTTPS") {
    return { unsupported: `${name}.httpGet.scheme: "${scheme}" found, HTTP or HTTPS wanted` }
  }
  return {
    endpoint: { ip: action.host ?? podIp, port },
    http: probe.httpGet === undefined ? undefined : { secure: scheme === "HTTPS", path: probe.httpGet.path ?? "/" }
  }
}

/**
 * Succeeds with a TCP connection, or with an HTTP status from 200 to 399. Like a kubelet it verifies no certificate.
 */
const probePort = (target: PortTarget, dial: Endpoint): Effect.Effect<boolean> =>
  Effect.callback<boolean>((resume) => {
    if (target.http === undefined) {
      const socket = net.connect({ host: dial.ip, port: dial.port })
      socket.once("connect", () => {
        socket.destroy()
        resume(Effect.succeed(true))
      })
      socket.on("error", () => resume(Effect.succeed(false)))
      return Effect.sync(() => socket.destroy())
    }
    const request = (target.http.secure ? https : http).get(
      {
        host: dial.ip,
        port: dial.port,
        path: target.http.path,
        agent: false,
        rejectUnauthorized: false,
        headers: {
          "user-agent": `kube-probe/${kubernetesVersion.replace(/\.\d+$/, "")}`,
          accept: "*/*",
          connection: "close"
        }
      },
      (response) => {
        const status = response.statusCode ?? 0
        response.resume()
        resume(Effect.succeed(status >= 200 && status < 400))
      }
    )
    request.on("error", () => resume(Effect.succeed(false)))
    return Effect.sync(() => request.destroy())
  })

const probeOnce = (target: ProbeTarget, { exec, reach }: ProbeWays): Effect.Effect<boolean> =>
  "command" in target
    ? Effect.map(exec(target.command), (exitCode) => exitCode === 0)
    : probePort(target, reach(target.endpoint))

const attemptOf = (probe: ProbeSpec, target: ProbeTarget, ways: ProbeWays): Effect.Effect<boolean> =>
  Effect.suspend(() => probeOnce(target, ways)).pipe(
    Effect.timeoutOrElse({
      duration: `${(probe.timeoutSeconds ?? 1) * 1000} millis`,
      orElse: () => Effect.succeed(false)
    })
  )

/** Ends after `failureThreshold` failures in a row. */
export const awaitDeath = Effect.fnUntraced(function* (probe: ProbeSpec, target: ProbeTarget, ways: ProbeWays) {
  yield* Effect.sleep(`${(probe.initialDelaySeconds ?? 0) * 1000} millis`)
  for (let failures = 0; failures < (probe.failureThreshold ?? 3);) {
    yield* Effect.sleep(`${(probe.periodSeconds ?? 10) * 1000} millis`)
    failures = (yield* attemptOf(probe, target, ways)) ? 0 : failures + 1
  }
})

/** Whether a probe passes before it has failed for `failureThreshold` periods. */
export const awaitStart = Effect.fnUntraced(function* (probe: ProbeSpec, target: ProbeTarget, ways: ProbeWays) {
  const period = (probe.periodSeconds ?? 10) * 1000
  const pause = Math.min(period, startPeriodMs)
  yield* Effect.sleep(`${(probe.initialDelaySeconds ?? 0) * 1000} millis`)
  for (let tries = ((probe.failureThreshold ?? 3) * period) / pause; tries > 0; tries--) {
    if (yield* attemptOf(probe, target, ways)) return true
    yield* Effect.sleep(`${pause} millis`)
  }
  return false
})

/** Probes for ever and reports each change of the verdict, first `true`. */
export const runProbe = Effect.fnUntraced(function* (
  probe: ProbeSpec,
  target: ProbeTarget,
  ways: ProbeWays,
  report: (passes: boolean) => void
) {
  const period = (probe.periodSeconds ?? 10) * 1000
  let verdict = false
  let everReady = false
  let streak = 0
  yield* Effect.sleep(`${(probe.initialDelaySeconds ?? 0) * 1000} millis`)
  while (true) {
    const passed = yield* attemptOf(probe, target, ways)
    streak = passed === verdict ? 0 : streak + 1
    if (streak >= (passed ? (probe.successThreshold ?? 1) : (probe.failureThreshold ?? 3))) {
      verdict = passed
      everReady ||= passed
      streak = 0
      report(verdict)
    }
    yield* Effect.sleep(`${everReady ? period : Math.min(period, startPeriodMs)} millis`)
  }
})
