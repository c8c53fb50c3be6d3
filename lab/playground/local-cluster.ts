/**
 * The common view of a cluster of the playground, embedded or real, for the story and for the tests with the real
 * client.
 */

import type { Effect } from "effect"
import type { DialledCell } from "../../src/domain/commands/join/join-request.ts"
import type { Caller, EmbeddedCluster } from "../cluster/embedded-cluster.ts"
import type { Kubelet } from "../cluster/node/kubelet.ts"
import type { ObjectReader } from "../cluster/store/object-reader.ts"
import type { Command } from "./started-program.ts"
import type { PlaygroundCluster } from "./topology.ts"

/** A cluster on this machine. */
export interface LocalCluster {
  readonly name: string
  /** `https://127.0.0.1:<port>`, the same after a restart. */
  readonly server: string
  /** Kubeconfig of `kubernetes-admin` in `system:masters`. */
  readonly kubeconfigPath: string
  readonly caPem: string
  /** The cluster's objects; those of a real cluster lag a moment behind. */
  readonly store: ObjectReader
  /** Requests so far, oldest first; from a real cluster only those of people and pods. */
  readonly callers: () => ReadonlyArray<Caller>
  /** Writes another kubeconfig with its own client certificate. */
  readonly userKubeconfig: (options: {
    readonly user: string
    readonly groups?: ReadonlyArray<string>
    readonly path: string
  }) => Effect.Effect<void, { readonly message: string }>
  /** Makes or changes the objects of YAML documents, as `kubectl apply` does; a real cluster gives a promise. */
  readonly apply: (manifests: string) => Promise<void> | void
  /** Takes the API server away with all its connections; the objects stay. */
  readonly stop: () => Effect.Effect<void>
  readonly restart: () => Effect.Effect<void, { readonly message: string }>
}

export interface RunningCluster<Cluster extends LocalCluster = EmbeddedCluster> {
  readonly description: PlaygroundCluster
  readonly cluster: Cluster
  /** The stand-in for a node. */
  readonly kubelet: Kubelet
  /** URL at which requests enter the demo workload; undefined where it does not run. */
  readonly entry: string | undefined
}

export interface Playground<Cluster extends LocalCluster = EmbeddedCluster> {
  readonly clusters: ReadonlyArray<RunningCluster<Cluster>>
  readonly primary: RunningCluster<Cluster>
  /** Changes the clusters that the primary's configuration names, which are all at first. They get new credentials. */
  readonly setMembers: (names: ReadonlyArray<string>) => Effect.Effect<void, { readonly message: string }>
  /** The primary's cell; `undefined` unless members dial out. */
  readonly cell?: PlaygroundCell
  /** The networks that keep the primary from members that dial out; `undefined` where all are in one network. */
  readonly networks?: NetworksApart
}

/** The networks of a fleet whose primary cannot reach the members that dial out. */
export interface NetworksApart {
  /** The outcome of dialling an API server from the primary's network, by address: `connected`, or the error's code. */
  readonly dialled: (server: string) => Effect.Effect<Readonly<Record<string, string>>, { readonly message: string }>
  /**
   * Runs commands of a shell where the addresses of members that dial are translated; the result is their output.
   * `undefined` on real nodes.
   */
  readonly atTranslation?: (commands: string) => Effect.Effect<string, { readonly message: string }>
}

/** A cell as members reach it. */
export interface PlaygroundCell extends Omit<DialledCell, "token"> {
  /** Has a member's operator dial it, with the values that `braid join --outbound` prints. */
  readonly dial: (member: string, dialled: DialledCell) => Effect.Effect<void, { readonly message: string }>
}

/** A cluster on any kind of node. */
export interface AnyRunningCluster extends Omit<RunningCluster<LocalCluster>, "kubelet"> {
  /** The stand-in for a node, where there is no real one. */
  readonly kubelet?: Kubelet
}

/** A place where an administrator reaches all clusters of a fleet at the addresses that they have for each other. */
export interface AdministratorPlace {
  /** A kubeconfig with a context for each cluster, under its name. */
  readonly kubeconfig: string
  /** A command that runs there. */
  readonly command: (command: Command) => Command
}

/** A playground on any kind of cluster. */
export interface AnyPlayground extends Omit<Playground<LocalCluster>, "clusters" | "primary"> {
  /** This machine, unless given. */
  readonly administrator?: AdministratorPlace
  /** Fails when something ends without which nothing goes on, where that is noticed. */
  readonly ended?: Effect.Effect<never, { readonly message: string }>
  readonly clusters: ReadonlyArray<AnyRunningCluster>
  readonly primary: AnyRunningCluster
}
