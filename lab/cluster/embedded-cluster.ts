/**
 * A cluster in this process: an in-memory API server over HTTPS on 127.0.0.1 that `kubectl`, client-node and the real
 * mirrord client take for a real one. Puts the rooms of this folder together, except the kubelet (`node`) and the
 * workload controllers (`controllers`), which the playground starts.
 */

import { chmod, mkdir, writeFile } from "node:fs/promises"
import type { Server } from "node:https"
import { join } from "node:path"
import { Data, Effect, Schedule, type Scope } from "effect"
import { bootstrapYaml } from "./bootstrap-objects.ts"
import { startEndpointsController } from "./controllers/endpoints-controller.ts"
import type { AdmitPod } from "./controllers/pod-creator.ts"
import { AggregationProxy } from "./http/aggregation-proxy.ts"
import { type Caller, createApiServer } from "./http/api-server.ts"
import { watchAvailability } from "./http/availability.ts"
import { Connections } from "./http/connections.ts"
import { authenticatedGroup, mastersGroup } from "./http/identity.ts"
import { applyManifests } from "./http/manifests.ts"
import { MutatingAdmission } from "./http/mutating-admission.ts"
import { createAuthority, type KeyPair } from "./http/pki.ts"
import type { PodLogs } from "./http/server-context.ts"
import { ServiceAccountTokens } from "./http/tokens.ts"
import { kubeconfigYaml } from "./kubeconfig.ts"
import type { KubeObject } from "./schema/kube-object.ts"
import { ObjectStore } from "./store/object-store.ts"
import * as refs from "./store/resource-refs.ts"
import { apiServerIp } from "./store/service-allocation.ts"

export type { Caller } from "./http/api-server.ts"

export interface EmbeddedClusterOptions {
  /** Name of cluster and context in the kubeconfig. */
  readonly name: string
  /** Folder for the kubeconfig; created if missing. */
  readonly directory: string
  /**
   * Default: a free port outside of the range for outgoing connections, so that it stays free between stop and restart.
   */
  readonly port?: number
  /** A watch that is more changes behind gets 410. */
  readonly historyLimit?: number
  /**
   * Epoch ms, for the timestamps of objects and the lifetime of tokens. Certificates and the HTTP server's timers
   * follow the machine's clock.
   */
  readonly now?: () => number
  /** Uniform in [0, 1), for uids, generated names and the choice among endpoints. */
  readonly random?: () => number
  /** Default 60, as on a real server. */
  readonly tokenLeewaySeconds?: number
  /** Default 60 000. */
  readonly bookmarkIntervalMs?: number
}

export class EmbeddedClusterError extends Data.TaggedError("EmbeddedClusterError")<{
  readonly operation: "start" | "restart" | "kubeconfig"
  readonly cluster: string
  readonly cause: unknown
}> {
  override get message(): string {
    const why = this.cause instanceof Error ? this.cause.message : String(this.cause)
    return `embedded cluster ${JSON.stringify(this.cluster)}: ${this.operation} failed: ${why}`
  }
}

export interface EmbeddedCluster {
  readonly name: string
  /** `https://127.0.0.1:<port>` */
  readonly server: string
  /** The kubeconfig of `kubernetes-admin`, who is in `system:masters`. */
  readonly kubeconfigPath: string
  readonly caPem: string
  readonly store: ObjectStore
  /** Creates or updates the objects of many YAML documents. Throws `ApiError`. */
  readonly apply: (yaml: string) => void
  /** The audit log, oldest first: the last 100 000 requests that have ended. An upgrade ends with its answer. */
  readonly callers: () => ReadonlyArray<Caller>
  /** A token of any lifetime. Throws `ApiError` 404 if there is no such account. */
  readonly serviceAccountToken: (namespace: string, name: string, ttlSeconds: number) => string
  /** Writes a kubeconfig for another user, with its own client certificate. */
  readonly userKubeconfig: (options: {
    readonly user: string
    readonly groups?: ReadonlyArray<string>
    readonly path: string
  }) => Effect.Effect<void, EmbeddedClusterError>
  /** The aggregation layer's client certificate. */
  readonly frontProxy: () => KeyPair
  /** Replaces the aggregation layer's client certificate. The trusted authorities stay those of the ConfigMap. */
  readonly useFrontProxy: (identity: KeyPair) => void
  /** The admission of a pod that a controller in this process creates, as this account of `kube-system`. */
  readonly admitPod: AdmitPod
  /** Sets the source of container logs. */
  readonly setPodLogs: (podLogs: PodLogs | undefined) => void
  /** Ends the server: connections are reset, the port refuses, the objects stay. Does nothing if it is stopped. */
  readonly stop: () => Effect.Effect<void>
  /** Serves again on the same port, waiting up to a minute until the port is free. Does nothing if it runs. */
  readonly restart: () => Effect.Effect<void, EmbeddedClusterError>
}

const auditLimit = 100_000

class ListenError extends Data.TaggedError("ListenError")<{ readonly message: string }> {}

/**
 * Ports below those that systems give to outgoing connections (from 32768 on Linux, higher elsewhere), and above 10080,
 * to which `fetch` does not connect. Processes that run at the same time begin at different ports.
 */
const ownPorts = (count: number): ReadonlyArray<number> =>
  Array.from({ length: count }, (_, index) => 10_100 + ((process.pid * 16 + index) % 9_900))

const listen = (server: Server, port: number): Effect.Effect<number, ListenError> =>
  Effect.callback((resume) => {
    const refused = ({ message }: Error) => resume(Effect.fail(new ListenError({ message })))
    server.once("error", refused)
    server.listen(port, "127.0.0.1", () => {
      server.off("error", refused)
      const address = server.address()
      resume(
        typeof address === "object" && address !== null
          ? Effect.succeed(address.port)
          : Effect.fail(new ListenError({ message: "the server has no address" }))
      )
    })
  })

const close = (server: Server, connections: Connections): Effect.Effect<void> =>
  Effect.callback((resume) => {
    server.close(() => resume(Effect.void))
    connections.resetAll()
    server.closeAllConnections()
  })

/** Creates the objects that a real cluster's controllers create in every namespace. */
const fillNamespaces = (store: ObjectStore, caPem: string): (() => void) =>
  store.watch(refs.namespaces, {}, ({ type, object }) => {
    if (type !== "ADDED" || object.metadata.deletionTimestamp !== undefined) return
    const namespace = object.metadata.name ?? ""
    if (store.get(refs.namespaces, undefined, namespace) === undefined) return
    if (store.get(refs.serviceAccounts, namespace, "default") === undefined) {
      store.create(refs.serviceAccounts, {
        apiVersion: "v1",
        kind: "ServiceAccount",
        metadata: { name: "default", namespace }
      })
    }
    if (store.get(refs.configMaps, namespace, "kube-root-ca.crt") === undefined) {
      store.create(refs.configMaps, {
        apiVersion: "v1",
        kind: "ConfigMap",
        metadata: { name: "kube-root-ca.crt", namespace },
        data: { "ca.crt": caPem }
      })
    }
  })

const publishAuthorities = (store: ObjectStore, clientCa: string, frontProxyCa: string): void => {
  store.create(refs.configMaps, {
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { name: "extension-apiserver-authentication", namespace: "kube-system" },
    data: {
      "client-ca-file": clientCa,
      "requestheader-allowed-names": '["front-proxy-client"]',
      "requestheader-client-ca-file": frontProxyCa,
      "requestheader-extra-headers-prefix": '["X-Remote-Extra-"]',
      "requestheader-group-headers": '["X-Remote-Group"]',
      "requestheader-uid-headers": '["X-Remote-Uid"]',
      "requestheader-username-headers": '["X-Remote-User"]'
    }
  })
}

/** Makes the API server a Service of its own cluster, as a real API server does. */
const publishApiServer = (store: ObjectStore, port: number): void => {
  const metadata = { name: "kubernetes", namespace: "default" }
  const address = "127.0.0.1"
  store.create(refs.services, {
    apiVersion: "v1",
    kind: "Service",
    metadata: { ...metadata, labels: { component: "apiserver", provider: "kubernetes" } },
    spec: { clusterIP: apiServerIp, ports: [{ name: "https", port: 443, targetPort: port }] }
  })
  store.create(refs.endpointSlices, {
    apiVersion: "discovery.k8s.io/v1",
    kind: "EndpointSlice",
    metadata: { ...metadata, labels: { "kubernetes.io/service-name": "kubernetes" } },
    addressType: "IPv4",
    endpoints: [{ addresses: [address], conditions: { ready: true } }],
    ports: [{ name: "https", protocol: "TCP", port }]
  })
}

/** The authorities of a cluster and the certificates of its own servers. */
const makeIdentities = async () => {
  // TLS peers judge certificates by the machine's clock, not by the cluster's.
  const [clusterCa, frontProxyCa] = await Promise.all([
    createAuthority("kubernetes", Date.now),
    createAuthority("front-proxy-ca", Date.now)
  ])
  const certificate = await clusterCa.issue({
    commonName: "kube-apiserver",
    sans: [
      { type: "ip", value: "127.0.0.1" },
      { type: "dns", value: "localhost" },
      { type: "dns", value: "kubernetes.default.svc" }
    ]
  })
  return {
    clusterCa,
    frontProxyCa,
    certificate,
    frontProxy: await frontProxyCa.issue({ commonName: "front-proxy-client" })
  }
}

type Identities = Awaited<ReturnType<typeof makeIdentities>>

/** The state of a cluster, which outlives its server. */
class ClusterState {
  readonly options: EmbeddedClusterOptions
  readonly identities: Identities
  readonly now: () => number
  readonly store: ObjectStore
  readonly tokens: ServiceAccountTokens
  readonly connections = new Connections()
  readonly proxy: AggregationProxy
  readonly admission: MutatingAdmission
  readonly audit: Array<Caller> = []
  /** The aggregation layer's client certificate. */
  frontProxy: KeyPair
  podLogs: PodLogs | undefined
  running: Server | undefined

  constructor(options: EmbeddedClusterOptions, identities: Identities) {
    const { historyLimit, now = Date.now, random = Math.random, tokenLeewaySeconds: leewaySeconds = 60 } = options
    this.options = options
    this.identities = identities
    this.now = now
    this.frontProxy = identities.frontProxy
    this.store = new ObjectStore({ now, random, ...(historyLimit === undefined ? {} : { historyLimit }) })
    applyManifests(this.store, bootstrapYaml)
    publishAuthorities(this.store, identities.clusterCa.caPem, identities.frontProxyCa.caPem)
    this.tokens = new ServiceAccountTokens({ store: this.store, now, random, leewaySeconds })
    this.admission = new MutatingAdmission({ store: this.store, random })
    this.proxy = new AggregationProxy({
      store: this.store,
      random,
      identity: () => this.frontProxy,
      connections: this.connections,
      connectTimeoutMs: 10_000
    })
  }

  admitPod(object: KubeObject, account: string): Promise<KubeObject> | undefined {
    const info = this.store.catalog.find(refs.pods)
    if (info === undefined) return undefined
    const accounts = "system:serviceaccounts"
    const identity = {
      user: `system:serviceaccount:kube-system:${account}`,
      groups: [accounts, `${accounts}:kube-system`, authenticatedGroup],
      extra: {}
    }
    return this.admission.admit({ info, object, identity, options: {} })
  }

  start(port: number): Effect.Effect<number, ListenError> {
    return Effect.suspend(() => {
      const server = this.#makeServer()
      return Effect.tap(listen(server, port), () =>
        Effect.sync(() => {
          this.running = server
        })
      )
    })
  }

  readonly stop = Effect.suspend(() => {
    const server = this.running
    this.running = undefined
    return server === undefined ? Effect.void : close(server, this.connections)
  })

  #makeServer(): Server {
    const { admission, audit, connections, identities, now, options, proxy, store, tokens } = this
    return createApiServer({
      context: {
        store,
        admission,
        now,
        tokens,
        bookmarkIntervalMs: options.bookmarkIntervalMs ?? 60_000,
        podLogs: () => this.podLogs
      },
      proxy,
      connections,
      certificate: identities.certificate,
      clientCaPem: identities.clusterCa.caPem,
      publicJwk: tokens.publicJwk,
      record: (caller) => {
        audit.push(caller)
        if (audit.length > auditLimit) audit.splice(0, auditLimit / 10)
      }
    })
  }

  async writeKubeconfig(
    server: string,
    { groups, path, user }: { readonly user: string; readonly groups: ReadonlyArray<string>; readonly path: string }
  ): Promise<void> {
    const { clusterCa } = this.identities
    const credentials = await clusterCa.issue({ commonName: user, organizations: groups })
    const yaml = kubeconfigYaml({ cluster: this.options.name, server, caPem: clusterCa.caPem, user, credentials })
    await writeFile(path, yaml, { mode: 0o600 })
    // The mode above applies to new files only.
    await chmod(path, 0o600)
  }
}

/** Opens the first port, and starts what works beside the server. */
const startServing = (state: ClusterState): Effect.Effect<number, ListenError, Scope.Scope> =>
  Effect.gen(function* () {
    const { identities, now, options, proxy, store } = state
    const start = (port: number) => state.start(port)
    const firstStart =
      options.port === undefined ? Effect.firstSuccessOf([...ownPorts(100), 0].map(start)) : start(options.port)
    const port = yield* Effect.acquireRelease(firstStart, () => state.stop)
    publishApiServer(store, port)
    yield* startEndpointsController(store)
    const stopFilling = fillNamespaces(store, identities.clusterCa.caPem)
    const stopProbing = watchAvailability(store, proxy, now)
    yield* Effect.addFinalizer(() =>
      Effect.sync(() => {
        stopFilling()
        stopProbing()
      })
    )
    return port
  })

/** The cluster lives as long as the scope. */
export const startEmbeddedCluster = (
  options: EmbeddedClusterOptions
): Effect.Effect<EmbeddedCluster, EmbeddedClusterError, Scope.Scope> =>
  Effect.gen(function* () {
    const { name, directory } = options
    const attempt =
      (operation: EmbeddedClusterError["operation"]) =>
      <A>(run: () => Promise<A>): Effect.Effect<A, EmbeddedClusterError> =>
        Effect.tryPromise({ try: run, catch: (cause) => new EmbeddedClusterError({ operation, cluster: name, cause }) })
    const failed = (operation: EmbeddedClusterError["operation"]) =>
      Effect.mapError((cause: ListenError) => new EmbeddedClusterError({ operation, cluster: name, cause }))

    const state = new ClusterState(options, yield* attempt("start")(makeIdentities))
    const { store, tokens } = state
    const port = yield* failed("start")(startServing(state))
    const server = `https://127.0.0.1:${port}`
    const kubeconfigPath = join(directory, `${name}.kubeconfig`)
    yield* attempt("kubeconfig")(async () => {
      await mkdir(directory, { recursive: true })
      await state.writeKubeconfig(server, { user: "kubernetes-admin", groups: [mastersGroup], path: kubeconfigPath })
    })
    return {
      name,
      server,
      kubeconfigPath,
      caPem: state.identities.clusterCa.caPem,
      store,
      apply: (yaml) => applyManifests(store, yaml),
      callers: () => [...state.audit],
      serviceAccountToken: (namespace, account, ttlSeconds) => tokens.issue(namespace, account, ttlSeconds).token,
      userKubeconfig: ({ user, groups = [], path }) =>
        attempt("kubeconfig")(() => state.writeKubeconfig(server, { user, groups, path })),
      frontProxy: () => state.frontProxy,
      useFrontProxy: (other) => {
        state.frontProxy = other
      },
      admitPod: (pod, account) => state.admitPod(pod, account),
      setPodLogs: (hook) => {
        state.podLogs = hook
      },
      stop: () => state.stop,
      restart: () =>
        Effect.suspend(() => {
          if (state.running !== undefined) return Effect.void
          // Like a new process, the server does not know the history from before.
          store.compactHistory()
          return Effect.asVoid(
            failed("restart")(Effect.retry(state.start(port), { schedule: Schedule.spaced("50 millis"), times: 1_200 }))
          )
        })
    }
  })
