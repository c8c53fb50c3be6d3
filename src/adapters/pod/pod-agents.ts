import { createHash } from "node:crypto"
import { Effect, Random, Schedule, Semaphore } from "effect"
import { jobs, pods } from "../../domain/resources/core-kinds.ts"
import type { OwnerReference } from "../../domain/resources/object-meta.ts"
import { ownerLabel } from "../../domain/session/names.ts"
import type { AgentPlacement } from "../../domain/target/pod-choice.ts"
import { AgentFailed, type AgentHandle, type Agents, type AgentUnreachable } from "../../ports/agents.ts"
import type { FrameChannel } from "../../ports/frame-channel.ts"
import type { KubeApi, KubeError, KubeObject } from "../../ports/kube-api.ts"

/** How agents are made in this cluster. */
export interface AgentSettings {
  readonly image: string
  readonly imagePullPolicy: string
  readonly namespace: string
  /** Fixed port, or undefined: a random one per agent. */
  readonly port: number | undefined
  /** How long an agent without client stays, in seconds: bridges a restart of the operator. */
  readonly idleTtlSecs: number
  /** How long an agent may take to start, in seconds. */
  readonly startupTimeoutSecs: number
  readonly logLevel: string
}

const portRange = { least: 30_000, most: 65_535 } as const
const firstGroup = 3_000
const pollEvery = "200 millis"

/** Everything an agent is told by its creator, with the published defaults (agent.md §2.4). */
const environment = (
  settings: AgentSettings,
  target: AgentPlacement | undefined
): ReadonlyArray<{ name: string; value: string }> =>
  Object.entries({
    RUST_LOG: settings.logLevel,
    MIRRORD_AGENT_STEALER_FLUSH_CONNECTIONS: "true",
    MIRRORD_AGENT_JSON_LOG: "false",
    MIRRORD_AGENT_PASSTHROUGH_MIRRORING: "true",
    MIRRORD_MAX_BODY_BUFFER_SIZE: "65535",
    MIRRORD_MAX_BODY_BUFFER_TIMEOUT: "1000",
    MIRRORD_AGENT_HTTP_DETECTION_TIMEOUT: "2",
    MIRRORD_JAQ_TIME_LIMIT: "1",
    MIRRORD_AGENT_EXTERNAL_IP_FIX: "true",
    MIRRORD_AGENT_OVERRIDE_CACHE_CONTROL: "true",
    MIRRORD_AGENT_IDLE_TTL: String(settings.idleTtlSecs),
    ...(target === undefined || target.podIps.length === 0 ? {} : { MIRRORD_AGENT_POD_IPS: target.podIps.join(",") })
  }).map(([name, value]) => ({ name, value }))

/** The Job of one agent, in the published shape (agent.md §2.1 to §2.3). */
export const agentJob = (
  settings: AgentSettings,
  name: string,
  port: number,
  group: number,
  target: AgentPlacement | undefined,
  owner: OwnerReference
): object => {
  const labels = { app: "mirrord", ...ownerLabel, "kuma.io/sidecar-injection": "disabled" }
  const annotations = { "sidecar.istio.io/inject": "false", "linkerd.io/inject": "disabled" }
  const mode =
    target === undefined
      ? ["targetless"]
      : ["targeted", "--container-id", target.containerId, "--container-runtime", target.runtime]
  return {
    apiVersion: "batch/v1",
    kind: "Job",
    metadata: { name, namespace: settings.namespace, labels, annotations, ownerReferences: [owner] },
    spec: {
      backoffLimit: 0,
      ttlSecondsAfterFinished: 60,
      template: {
        metadata: { labels, annotations },
        spec: {
          restartPolicy: "Never",
          ...(target === undefined
            ? {}
            : {
                hostPID: true,
                nodeName: target.nodeName,
                tolerations: [{ operator: "Exists" }],
                volumes: [
                  { name: "hostrun", hostPath: { path: "/run" } },
                  { name: "hostvar", hostPath: { path: "/var" } }
                ]
              }),
          containers: [
            {
              name: "mirrord-agent",
              image: settings.image,
              imagePullPolicy: settings.imagePullPolicy,
              command: ["./mirrord-agent"],
              args: ["-l", String(port), "-t", "30", ...mode],
              env: environment(settings, target),
              resources: { requests: { cpu: "1m", memory: "1Mi" }, limits: { cpu: "1", memory: "100Mi" } },
              ...(target === undefined
                ? {}
                : {
                    securityContext: {
                      runAsGroup: group,
                      privileged: false,
                      capabilities: { add: ["SYS_ADMIN", "SYS_PTRACE", "NET_ADMIN"] }
                    },
                    volumeMounts: [
                      { name: "hostrun", mountPath: "/host/run" },
                      { name: "hostvar", mountPath: "/host/var" }
                    ]
                  })
            }
          ]
        }
      }
    }
  }
}

/** The parts of Jobs and Pods that decide here; everything may be absent. */
interface JobView {
  readonly spec?: {
    readonly template?: {
      readonly spec?: { readonly containers?: ReadonlyArray<{ readonly args?: ReadonlyArray<string> }> }
    }
  }
  readonly status?: { readonly failed?: number; readonly succeeded?: number }
}
interface PodView {
  readonly status?: {
    readonly phase?: string
    readonly podIP?: string
    readonly containerStatuses?: ReadonlyArray<{
      readonly ready?: boolean
      readonly state?: { readonly waiting?: { readonly reason?: string; readonly message?: string } }
    }>
  }
}

const isFinished = (job: KubeObject): boolean => {
  const { status } = job as JobView
  return (status?.failed ?? 0) > 0 || (status?.succeeded ?? 0) > 0 || job.metadata.deletionTimestamp !== undefined
}

const portOf = (job: KubeObject): number => {
  const args = (job as JobView).spec?.template?.spec?.containers?.[0]?.args ?? []
  return Number(args[args.indexOf("-l") + 1])
}

const pullFailures = new Set(["ErrImagePull", "ImagePullBackOff", "InvalidImageName"])

type PodState =
  | { readonly _tag: "Running"; readonly host: string }
  | { readonly _tag: "Failed"; readonly detail: string }
  | { readonly _tag: "Waiting" }

const podState = (pod: KubeObject | undefined): PodState => {
  const status = (pod as PodView | undefined)?.status
  const container = status?.containerStatuses?.[0]
  if (status?.phase === "Failed" || status?.phase === "Succeeded") {
    return { _tag: "Failed", detail: `its pod ended (${status.phase}); \`kubectl logs\` of it says why` }
  }
  const waiting = container?.state?.waiting
  if (waiting?.reason !== undefined && pullFailures.has(waiting.reason)) {
    return { _tag: "Failed", detail: `its image cannot be pulled: ${waiting.message ?? waiting.reason}` }
  }
  return status?.phase === "Running" && container?.ready === true && status.podIP !== undefined
    ? { _tag: "Running", host: status.podIP }
    : { _tag: "Waiting" }
}

/** Opens a connection to an agent that listens there. */
export type DialAgent = (host: string, port: number) => Effect.Effect<FrameChannel, AgentUnreachable>

/** Agents as Jobs in the cluster of `api`. */
export const podAgents = (api: KubeApi, settings: AgentSettings, dial: DialAgent): Agents["Service"] => {
  const nameOf = (target: AgentPlacement | undefined, owner: OwnerReference): string => {
    const key = target === undefined ? `session ${owner.uid}` : `${target.podUid} ${target.containerId}`
    return `mirrord-agent-${createHash("sha256").update(key).digest("hex").slice(0, 10)}`
  }

  /** By the Job's name: sessions that come for the same agent at once would take turns in conflicting. */
  const turns = new Map<string, { readonly semaphore: Semaphore.Semaphore; users: number }>()
  const inTurn = <A, E>(name: string, effect: Effect.Effect<A, E>): Effect.Effect<A, E> =>
    Effect.acquireUseRelease(
      Effect.sync(() => {
        const turn = turns.get(name) ?? { semaphore: Semaphore.makeUnsafe(1), users: 0 }
        turn.users++
        turns.set(name, turn)
        return turn
      }),
      ({ semaphore }) => semaphore.withPermit(effect),
      (turn) =>
        Effect.sync(() => {
          if (--turn.users === 0) turns.delete(name)
        })
    )

  const absent = (error: KubeError) => (error.reason === "NotFound" ? Effect.void : Effect.fail(error))

  /** The Job, made if there is none, with `owner` among its owners. Repeated when somebody else was faster. */
  const job = (
    name: string,
    target: AgentPlacement | undefined,
    owner: OwnerReference
  ): Effect.Effect<KubeObject, KubeError> =>
    Effect.gen(function* () {
      const existing = yield* api.get(jobs, name, settings.namespace).pipe(Effect.catch(absent))
      if (existing === undefined) {
        const port = settings.port ?? (yield* Random.nextIntBetween(portRange.least, portRange.most))
        const body = agentJob(settings, name, port, yield* Random.nextIntBetween(firstGroup, 65_535), target, owner)
        return yield* api.create(jobs, body, settings.namespace)
      }
      if (isFinished(existing)) {
        const { uid } = existing.metadata
        yield* api
          .delete(jobs, name, { namespace: settings.namespace, ...(uid === undefined ? {} : { uid }) })
          .pipe(Effect.catch(absent))
        return yield* Effect.andThen(Effect.sleep(pollEvery), () => job(name, target, owner))
      }
      const owners = existing.metadata.ownerReferences ?? []
      if (owners.some(({ uid }) => uid === owner.uid)) return existing
      return yield* api.mergePatch(
        jobs,
        name,
        { metadata: { resourceVersion: existing.metadata.resourceVersion, ownerReferences: [...owners, owner] } },
        { namespace: settings.namespace }
      )
    }).pipe(
      Effect.retry({
        times: 5,
        while: (error) => error.reason === "Conflict" || error.reason === "AlreadyExists",
        schedule: Schedule.spaced(pollEvery)
      })
    )

  const ensure = (
    target: AgentPlacement | undefined,
    owner: OwnerReference
  ): Effect.Effect<AgentHandle, AgentFailed> => {
    const name = nameOf(target, owner)
    const failed = (detail: string): AgentFailed => new AgentFailed({ agent: name, detail })
    return Effect.gen(function* () {
      const made = yield* inTurn(name, job(name, target, owner))
      const port = portOf(made)
      if (!(Number.isInteger(port) && port > 0 && port <= 65_535)) {
        return yield* failed(
          `a Job of that name is no agent: its container has no argument -l with a port; delete the Job`
        )
      }
      for (;;) {
        const found = yield* api.list(pods, { namespace: settings.namespace, labelSelector: `job-name=${name}` })
        // Pods of an earlier Job of that name may still be there.
        const isOurs = ({ metadata }: KubeObject): boolean =>
          metadata.deletionTimestamp === undefined &&
          (metadata.ownerReferences ?? []).some(({ uid }) => uid === made.metadata.uid)
        const state = podState(found.items.find(isOurs))
        if (state._tag === "Running") return { name, host: state.host, port }
        if (state._tag === "Failed") return yield* failed(state.detail)
        yield* Effect.sleep(pollEvery)
      }
    }).pipe(
      Effect.mapError((error) => (error._tag === "KubeError" ? failed(error.message) : error)),
      Effect.timeoutOrElse({
        duration: settings.startupTimeoutSecs * 1_000,
        orElse: () => Effect.fail(failed(`it was not running within ${settings.startupTimeoutSecs} s`))
      })
    )
  }

  return { ensure, connect: ({ host, port }) => dial(host, port) }
}
