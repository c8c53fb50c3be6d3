/**
 * The playground on real control planes, with operators installed by `helm` from the chart. The playground on embedded
 * clusters is `../playground.ts`.
 */

import { Clock, Effect, Redacted, type Scope } from "effect"
import type { DialledCell } from "../../../src/domain/commands/join/join-request.ts"
import { encodeBase64Text } from "../../../src/domain/fleet/credentials/base64.ts"
import { splitSessions } from "../../../src/domain/queues/stored-session.ts"
import { splitPatches } from "../../../src/domain/queues/stored-split.ts"
import { mutatingWebhookConfigurations } from "../../../src/domain/resources/core-kinds.ts"
import { agentProgram } from "../../agent/agent-command.ts"
import { createAuthority } from "../../cluster/http/pki.ts"
import type { ServiceEntryError } from "../../cluster/network/service-entry.ts"
import type { ImageRegistry } from "../../cluster/node/container-program.ts"
import type { KubeletError } from "../../cluster/node/kubelet.ts"
import type { ClosedNetwork } from "../closed-network.ts"
import { demoApp } from "../demo-app.ts"
import { makeToken, openCell } from "../dial-out.ts"
import type { Playground } from "../local-cluster.ts"
import { images, operatorNamespace, sqsVariables, workloadManifests, workloadNamespace } from "../manifests.ts"
import { openEntries } from "../open-entries.ts"
import { PlaygroundError, waitForClusters, waitForView } from "../readiness.ts"
import type { PlaygroundCluster, Topology } from "../topology.ts"
import { braidImage, braidSources } from "./braid-image.ts"
import { installChart } from "./helm-release.ts"
import { openOutboundNetworks, type OutboundNetworks } from "./outbound-networks.ts"
import type { Programs } from "./programs.ts"
import { type RealCluster, startRealCluster } from "./real-cluster.ts"

/** The chart's default. */
export const operatorImage = "ghcr.io/braid-operator/braid"
/** A port on which any user may listen; the chart's default is 443. */
const operatorPort = 8443
const cellPorts = { cell: 9443, bootstrap: 9444 }
const tokenLifetimeSecs = 30 * 24 * 3600

/** A release of the project: its version, and the files of its chart and of its operator's program. */
export interface Release {
  readonly version: string
  readonly chart: string
  readonly braid: string
}

export interface KubernetesPlaygroundOptions {
  readonly topology: Topology
  readonly programs: Programs
  readonly directory: string
  readonly sessionTtlSecs: number
  readonly remoteSessionTimeoutSecs: number
  /** The file of the operator's program; its sources unless given. */
  readonly braid?: string
  /** Another release to begin with: its chart, and its operator's program for images of its version. */
  readonly release?: Release
  /** Whether the primary is to be in a network of its own, so that it cannot reach members that dial out. */
  readonly isApart?: boolean
  /** Groups of the primary whose people may send requests to members that dial out; none unless given. */
  readonly peopleGroups?: ReadonlyArray<string>
  /** URL of the server that stands in for SQS, whose queues are split; no queues are unless given. */
  readonly sqsEndpoint?: string
  /** Further images that nodes know. */
  readonly images?: ImageRegistry
  /** Called for each step. */
  readonly progress: (step: string) => Effect.Effect<void>
}

interface Started {
  readonly description: PlaygroundCluster
  readonly cluster: RealCluster
}

/** The images that a node knows. */
const imagesOf = (
  { subnet }: PlaygroundCluster,
  { braid = braidSources, images: further = new Map(), release }: KubernetesPlaygroundOptions,
  network: ClosedNetwork | undefined
): ImageRegistry => {
  const programOf = (image: string): string =>
    release !== undefined && image.endsWith(`:${release.version}`) ? release.braid : braid
  const operator = braidImage(subnet, programOf, network)
  return new Map([[operatorImage, operator], [images.agent, agentProgram], [images.demo, demoApp], ...further])
}

/** Values of every cluster. A role in the workload's namespace lets tests use developers without any other rights. */
const defaultValues = { agent: { image: images.agent }, roleNamespaces: [workloadNamespace] }

/** Values by which an operator splits queues; none without a server of queues. */
const splitValues = ({ sqsEndpoint }: KubernetesPlaygroundOptions): object =>
  sqsEndpoint === undefined ? {} : { sqsSplitting: true, extraEnv: sqsVariables(sqsEndpoint) }

/** The primary's user in members that know it by a certificate. */
export const primaryUser = "primary.mirrord.example"
/** One member knows the primary by a certificate, the others by a token. */
const knowsByCertificate = ({ dialsOut, name }: PlaygroundCluster): boolean => name === "cluster-b" && !dialsOut

/** `dialled`: `undefined` for a member that the primary reaches. */
const memberValues = (
  options: KubernetesPlaygroundOptions,
  member: PlaygroundCluster,
  dialled?: DialledCell & { readonly proxy: object }
): object => ({
  ...defaultValues,
  operator: {
    ...splitValues(options),
    port: operatorPort,
    multiClusterMember: true,
    ...(dialled === undefined ? {} : { outbound: { enabled: true, ...dialled } })
  },
  ...(knowsByCertificate(member)
    ? { rbac: { memberSubjects: [{ kind: "User", name: primaryUser, apiGroup: "rbac.authorization.k8s.io" }] } }
    : {})
})

/** The credentials with which the primary reaches a member. */
const credentialValues = ({ cluster, description }: Started): Effect.Effect<object, { readonly message: string }> =>
  knowsByCertificate(description)
    ? Effect.tryPromise({
        try: () => cluster.plane.credentialsFor(primaryUser, []),
        catch: (cause) => ({ message: String(cause) })
      }).pipe(Effect.map(({ cert, key }) => ({ authType: "mtls", tlsCrt: cert, tlsKey: key })))
    : cluster
        .token(operatorNamespace, "mirrord-operator-envoy", tokenLifetimeSecs)
        .pipe(Effect.map((token) => ({ authType: "bearerToken", bearerToken: Redacted.value(token) })))

/** A serving certificate for the operator, which the API server checks. */
const tlsValues = Effect.gen(function* () {
  const now = yield* Clock.currentTimeMillis
  return yield* Effect.tryPromise({
    try: async () => {
      const authority = await createAuthority("operators", () => now)
      const host = `mirrord-operator.${operatorNamespace}.svc`
      const { certPem, keyPem } = await authority.issue({ commonName: host, sans: [{ type: "dns", value: host }] })
      return {
        data: { "tls.crt": certPem, "tls.key": keyPem },
        apiService: { insecureSkipTLSVerify: false, caBundle: encodeBase64Text(authority.caPem) }
      }
    },
    catch: (cause) => new PlaygroundError({ detail: `the operator's certificate cannot be made: ${String(cause)}` })
  })
})

const isReached = ({ description }: Started): boolean => !description.dialsOut

/**
 * Values of the primary. The members that it reaches must be installed before, because it gets their tokens, new ones
 * each time.
 */
const primaryValues = (
  options: KubernetesPlaygroundOptions,
  { description, tls }: { readonly description: PlaygroundCluster; readonly tls: object },
  members: ReadonlyArray<Started>
) =>
  Effect.gen(function* () {
    const { remoteSessionTimeoutSecs, sessionTtlSecs, topology } = options
    const reached = yield* Effect.forEach(members.filter(isReached), (member) =>
      Effect.map(
        credentialValues(member),
        (credentials) =>
          [
            member.description.name,
            { ...credentials, server: member.cluster.server, caData: encodeBase64Text(member.cluster.caPem) }
          ] as const
      )
    ).pipe(
      Effect.mapError(
        ({ message }) => new PlaygroundError({ detail: `a member gives the primary no credentials: ${message}` })
      )
    )
    const dialling = members.filter((member) => !isReached(member))
    const clusters = [...reached, ...dialling.map(({ description: { name } }) => [name, { authType: "outbound" }])]
    const { bootstrap: bootstrapPort, cell: port } = cellPorts
    return {
      ...defaultValues,
      tls,
      operator: {
        ...splitValues(options),
        port: operatorPort,
        ...(dialling.length === 0 ? {} : { cell: { enabled: true, port, bootstrapPort } }),
        multiCluster: {
          enabled: true,
          clusterName: description.name,
          defaultCluster: topology.clusters.find(({ isDefault }) => isDefault)?.name ?? "",
          managementOnly: topology.managementOnly,
          remoteSessionTimeoutSecs,
          sessionTtlSecs,
          clusters: Object.fromEntries(clusters)
        }
      }
    }
  })

const applyTo = ({ cluster, description }: Started, manifests: string, what: string) =>
  Effect.tryPromise({
    try: () => cluster.plane.apply(manifests),
    catch: (cause) =>
      new PlaygroundError({ detail: `${what} cannot be applied in ${description.name}: ${String(cause)}` })
  })

/** The networks of the playground; none unless they are asked for. */
const networksOf = ({ isApart = false }: KubernetesPlaygroundOptions) =>
  isApart ? openOutboundNetworks : Effect.succeed(undefined)

/** The clusters of the playground, without what is installed on them. */
const startClusters = (options: KubernetesPlaygroundOptions, networks: OutboundNetworks | undefined) =>
  Effect.gen(function* () {
    const { directory, programs, topology } = options
    const started = yield* Effect.forEach(
      topology.clusters,
      (description) => {
        const network = description.isPrimary ? networks?.primary : undefined
        return startRealCluster({
          name: description.name,
          programs,
          directory,
          subnet: description.subnet,
          serviceSubnet: description.subnet + topology.clusters.length,
          images: imagesOf(description, options, network),
          ...(options.sqsEndpoint !== undefined && {
            kinds: [splitPatches, splitSessions, mutatingWebhookConfigurations]
          }),
          ...(network && { network })
        }).pipe(Effect.map((running) => ({ description, ...running })))
      },
      { concurrency: "unbounded" }
    )
    if (networks === undefined) return started
    for (const { cluster, description } of started) {
      if (description.dialsOut) yield* networks.hide(cluster.server)
      else if (!description.isPrimary) yield* networks.admit(cluster.server)
    }
    return started
  })

/** The way to the primary's cell for the members. */
const openWay = (primary: Parameters<typeof openCell>[0], networks: OutboundNetworks | undefined) =>
  Effect.flatMap(openCell(primary, cellPorts), (opened) => networks?.through(opened) ?? Effect.succeed(opened))

/**
 * Starts the playground on real control planes. Each cluster has a node and a service proxy of ours; its operator has
 * exactly the rights that the unchanged chart gives it. Everything lives as long as the scope. The topology's subnets
 * are the nodes'; the Services' subnets follow them.
 */
export const startKubernetesPlayground = (
  options: KubernetesPlaygroundOptions
): Effect.Effect<Playground<RealCluster>, PlaygroundError | KubeletError | ServiceEntryError, Scope.Scope> =>
  Effect.gen(function* () {
    const { progress, programs } = options
    const networks = yield* networksOf(options)
    const started = yield* startClusters(options, networks)
    yield* progress("clusters")

    const workloads = started.filter(({ description }) => description.hasWorkload)
    yield* Effect.forEach(workloads, (running) =>
      applyTo(running, workloadManifests(running.description), "the demo workload")
    )
    const members = started.filter(({ description }) => !description.isPrimary)
    yield* Effect.forEach(
      members.filter(isReached),
      ({ cluster, description }) =>
        installChart(programs, cluster, memberValues(options, description), options.release),
      { concurrency: "unbounded" }
    )
    const primary = started.find(({ description }) => description.isPrimary)
    if (primary === undefined) return yield* new PlaygroundError({ detail: "the topology has no primary" })
    const tls = yield* tlsValues
    const installPrimary = (named: ReadonlyArray<Started>) =>
      primaryValues(options, { description: primary.description, tls }, named).pipe(
        Effect.flatMap((values) => installChart(programs, primary.cluster, values, options.release))
      )
    yield* installPrimary(members)
    const dialling = members.filter((member) => !isReached(member))
    const opened = dialling.length === 0 ? undefined : yield* openWay(primary, networks)
    const proxy = { groups: options.peopleGroups ?? [] }
    const dial = ({ cluster, description }: Started, dialled: DialledCell) =>
      installChart(programs, cluster, memberValues(options, description, { ...dialled, proxy }), options.release)
    for (const member of dialling) {
      if (opened === undefined) break
      const { dialled, secret } = yield* makeToken(member.description.name, opened)
      yield* applyTo(primary, secret, "the token of a member")
      yield* dial(member, dialled)
    }

    yield* waitForClusters(started, primary.cluster, progress)
    for (const { cluster, description } of started)
      yield* waitForView(cluster.name, cluster.awaitSessions(description.isPrimary))
    return {
      ...(yield* openEntries(started)),
      ...(networks && { networks }),
      ...(opened === undefined
        ? {}
        : {
            cell: {
              ...opened,
              dial: (name, dialled) =>
                Effect.forEach(
                  dialling.filter(({ description }) => description.name === name),
                  (member) => dial(member, dialled),
                  { discard: true }
                )
            }
          }),
      setMembers: (names) => installPrimary(members.filter(({ description: { name } }) => names.includes(name)))
    }
  })
