/**
 * One cluster of the real playground: a real control plane with a stand-in node and service proxy on this machine. The
 * installation on it is in `helm-release.ts`.
 */

import { mkdir, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { KubeConfig } from "@kubernetes/client-node"
import { Effect, Redacted, Result, type Scope } from "effect"
import { makeKubeApi } from "../../../src/adapters/kubernetes/kube-api-http.ts"
import { tokenRequests } from "../../../src/domain/resources/core-kinds.ts"
import { readResource } from "../../../src/domain/resources/resource-descriptor.ts"
import type { KubeApi } from "../../../src/ports/kube-api.ts"
import { kubeconfigYaml } from "../../cluster/kubeconfig.ts"
import { startServiceProxy } from "../../cluster/network/service-proxy.ts"
import type { ImageRegistry } from "../../cluster/node/container-program.ts"
import type { TokenRequest } from "../../cluster/node/container-volumes.ts"
import { type Kubelet, type KubeletError, startKubelet } from "../../cluster/node/kubelet.ts"
import type { NodeStore } from "../../cluster/node/node-store.ts"
import { publishedAddresses } from "../../cluster/node/pod-addresses.ts"
import type { ClosedNetwork } from "../closed-network.ts"
import type { LocalCluster } from "../local-cluster.ts"
import { PlaygroundError } from "../readiness.ts"
import { readAuditLog } from "./audit-log.ts"
import { type ControlPlane, type PlaneNetwork, startControlPlane } from "./control-plane.ts"
import { type FurtherKind, type MirroredCluster, mirrorCluster } from "./mirrored-store.ts"
import type { Programs } from "./programs.ts"

/** A real control plane with a stand-in node and service proxy. */
export interface RealCluster extends LocalCluster {
  readonly plane: ControlPlane
  readonly api: KubeApi
  readonly awaitSessions: MirroredCluster["awaitSessions"]
  /** Issues a token of a service account. */
  readonly token: (
    namespace: string,
    account: string,
    lifetimeSecs: number
  ) => Effect.Effect<Redacted.Redacted<string>, { readonly message: string }>
}

export interface RealClusterOptions {
  readonly name: string
  readonly programs: Programs
  /** Folder for all that pods write. */
  readonly directory: string
  /** Pods listen on 127.<subnet>.x.y and are known as 10.<subnet>.x.y. */
  readonly subnet: number
  /** Services get 127.<serviceSubnet>.x.y. No two clusters of this machine may share a subnet at the same time. */
  readonly serviceSubnet: number
  readonly images: ImageRegistry
  /** The network of its control plane and of braid's pods; this machine's unless given. */
  readonly network?: ClosedNetwork
  /** Kinds that its store shows beside the usual ones. */
  readonly kinds?: ReadonlyArray<FurtherKind>
}

export const failed = (what: string) => (cause: unknown) =>
  new PlaygroundError({ detail: `${what}: ${cause instanceof Error ? cause.message : String(cause)}` })

const requestToken = (api: KubeApi, namespace: string, account: string, spec: object) =>
  api
    .create(
      { group: "", version: "v1", plural: `serviceaccounts/${account}/token`, scope: "Namespaced" },
      { apiVersion: "authentication.k8s.io/v1", kind: "TokenRequest", spec },
      namespace
    )
    .pipe(
      Effect.flatMap((answer) =>
        Result.match(readResource(tokenRequests, answer), { onFailure: Effect.fail, onSuccess: Effect.succeed })
      ),
      Effect.map(({ status }) => Redacted.make(status.token))
    )

const podToken =
  (api: KubeApi) =>
  ({ audience, expirationSeconds, namespace, podName, podUid, serviceAccountName }: TokenRequest) =>
    requestToken(api, namespace, serviceAccountName, {
      ...(audience === undefined ? {} : { audiences: [audience] }),
      expirationSeconds,
      boundObjectRef: { apiVersion: "v1", kind: "Pod", name: podName, uid: podUid }
    })

const planeNetwork = ({ inNetwork, leadTo }: ClosedNetwork): PlaneNetwork => ({
  inNetwork,
  forward: async (port) => void (await leadTo({ host: "127.0.0.1", port }, { host: "127.0.0.1", port }))
})

/** Starts the control plane of a cluster. */
const startPlane = ({ name, network, programs, serviceSubnet }: RealClusterOptions) =>
  Effect.acquireRelease(
    Effect.tryPromise({
      try: () =>
        startControlPlane({
          name,
          programs,
          serviceRange: `127.${serviceSubnet}.0.0/16`,
          serviceAccounts: true,
          audit: true,
          ...(network && { network: planeNetwork(network) })
        }),
      catch: failed(`the control plane of ${name} does not start`)
    }),
    (started) => Effect.promise(() => started.close())
  )

/** The cluster of a control plane that runs. `directory`: for kubeconfigs of users. */
export const openCluster = (
  { kinds = [], name }: Pick<RealClusterOptions, "kinds" | "name">,
  plane: ControlPlane,
  directory: string
): Effect.Effect<{ readonly cluster: RealCluster; readonly store: NodeStore }, PlaygroundError, Scope.Scope> =>
  Effect.gen(function* () {
    const config = new KubeConfig()
    config.loadFromFile(plane.kubeconfigPath)
    const api = yield* makeKubeApi(config, name)
    const { awaitSessions, store } = yield* mirrorCluster(api, kinds)
    const cluster: RealCluster = {
      name,
      server: plane.server,
      kubeconfigPath: plane.kubeconfigPath,
      caPem: plane.caPem,
      store,
      apply: plane.apply,
      plane,
      api,
      awaitSessions,
      token: (namespace, account, lifetimeSecs) =>
        requestToken(api, namespace, account, { expirationSeconds: lifetimeSecs }),
      callers: () => readAuditLog(plane.auditLog),
      userKubeconfig: ({ groups = [], path, user }) =>
        Effect.tryPromise({
          try: async () => {
            const { cert, key } = await plane.credentialsFor(user, groups)
            await mkdir(directory, { recursive: true })
            const text = kubeconfigYaml({
              cluster: name,
              server: plane.server,
              caPem: plane.caPem,
              user,
              credentials: { certPem: cert, keyPem: key }
            })
            await writeFile(path, text, { mode: 0o600 })
          },
          catch: failed(`the kubeconfig of ${user} cannot be written`)
        }),
      stop: () => Effect.promise(() => plane.stop()),
      restart: () => Effect.tryPromise({ try: () => plane.restart(), catch: failed(`${name} does not start again`) })
    }
    return { cluster, store }
  })

/** Starts a cluster. The cluster and all its processes end with the scope. */
export const startRealCluster = (
  options: RealClusterOptions
): Effect.Effect<
  { readonly cluster: RealCluster; readonly kubelet: Kubelet },
  PlaygroundError | KubeletError,
  Scope.Scope
> =>
  Effect.gen(function* () {
    const { directory, images, name, network, subnet } = options
    const plane = yield* startPlane(options)
    const { cluster, store } = yield* openCluster(options, plane, directory)
    const kubelet = yield* startKubelet({
      store,
      nodeName: `${name}-node`,
      directory: join(directory, name),
      subnet,
      addresses: publishedAddresses(subnet),
      images,
      apiServer: { ip: "127.0.0.1", port: Number(new URL(plane.server).port) },
      issueToken: podToken(cluster.api)
    })
    yield* startServiceProxy(store, kubelet.reach, network?.listenAt)
    return { cluster, kubelet }
  })
