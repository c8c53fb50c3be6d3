import { execFile } from "node:child_process"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"
import { KubeConfig } from "@kubernetes/client-node"
import { Effect, Exit, Logger, Scope } from "effect"
import { afterAll, beforeAll, expect, it } from "vitest"
import { stringify } from "yaml"
import { kubeconfigYaml } from "../../lab/cluster/kubeconfig.ts"
import { makeKubeApi } from "../../src/adapters/kubernetes/kube-api-http.ts"
import { sha256Hex } from "../../src/app/kernel/sha256-hex.ts"
import { makeOperator } from "../../src/app/operator/operator.ts"
import { clusterName, credentialsSecretName } from "../../src/domain/fleet/cluster-name.ts"
import { credentialsLabel } from "../../src/domain/fleet/credentials/cluster-auth.ts"
import { daemonMessage } from "../../src/domain/protocol/daemon-message.ts"
import { AgentFailed, Agents } from "../../src/ports/agents.ts"
import { ClusterConnector } from "../../src/ports/cluster-connector.ts"
import { type KubeApi, KubeError, type ResourceRef } from "../../src/ports/kube-api.ts"
import { LinkRefused } from "../../src/ports/member-link.ts"
import type { Credentials } from "../lab/cluster/api-client.ts"
import { eventually } from "../support/eventually.ts"
import { fakeChannel } from "../support/fake-channel.ts"
import { defaultLimits } from "../support/fleet.ts"

/** An API server, real or embedded. */
export interface DescribedCluster {
  readonly server: string
  readonly caPem: string
  readonly kubeconfigPath: string
  readonly credentialsFor: (user: string, groups: ReadonlyArray<string>) => Promise<Credentials>
  readonly apply: (yaml: string) => Promise<void>
}

const crds = fileURLToPath(new URL("../../crds", import.meta.url))
const parents: ResourceRef = {
  group: "operator.metalbear.co",
  version: "v1alpha",
  plural: "mirrordmulticlustersessions",
  scope: "Cluster"
}
const podsOf: ResourceRef = { group: "", version: "v1", plural: "pods", scope: "Namespaced" }

/** The rights of an operator as far as sessions need them; it may not read StatefulSets. */
const rights = [
  ["", ["pods", "services", "secrets", "configmaps"], ["get", "list", "watch", "create", "patch"]],
  ["", ["events"], ["create", "patch"]],
  ["apps", ["deployments"], ["get"]],
  ["mirrord.metalbear.co", ["mirrordtlsstealconfigs", "mirrordclustertlsstealconfigs"], ["list", "watch"]],
  [
    "mirrord.metalbear.co",
    ["mirrordclustersessions", "mirrordclustersessions/status"],
    ["get", "list", "watch", "create", "patch", "delete"]
  ],
  [
    "operator.metalbear.co",
    ["mirrordmulticlustersessions", "mirrordmulticlustersessions/status"],
    ["get", "list", "watch", "create", "patch", "delete"]
  ]
] as const

const workload = (kind: string, name: string) => ({
  apiVersion: "apps/v1",
  kind,
  metadata: { name, namespace: "default" },
  spec: {
    ...(kind === "StatefulSet" ? { serviceName: name } : {}),
    // The test creates the pods itself: no controller may add others.
    replicas: 0,
    selector: { matchLabels: { app: name } },
    template: { metadata: { labels: { app: name } }, spec: { containers: [{ name: "app", image: "app" }] } }
  }
})

const objects = [
  { apiVersion: "v1", kind: "Namespace", metadata: { name: "mirrord" } },
  {
    apiVersion: "rbac.authorization.k8s.io/v1",
    kind: "ClusterRole",
    metadata: { name: "operator" },
    rules: rights.map(([group, resources, verbs]) => ({
      apiGroups: [group],
      resources: [...resources],
      verbs: [...verbs]
    }))
  },
  {
    apiVersion: "rbac.authorization.k8s.io/v1",
    kind: "ClusterRoleBinding",
    metadata: { name: "operator" },
    roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "operator" },
    subjects: [{ apiGroup: "rbac.authorization.k8s.io", kind: "User", name: "operator" }]
  },
  {
    apiVersion: "v1",
    kind: "Secret",
    metadata: {
      name: credentialsSecretName(clusterName("cluster-b"), sha256Hex),
      namespace: "mirrord",
      labels: { [credentialsLabel]: "true" }
    },
    stringData: { bearerToken: "token" }
  },
  workload("Deployment", "works"),
  workload("Deployment", "no-image"),
  workload("Deployment", "no-pods"),
  workload("StatefulSet", "forbidden")
]

const pod = (app: string) => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name: `${app}-1`, namespace: "default", labels: { app } },
  spec: { nodeName: "node", containers: [{ name: "app", image: "app" }] }
})
const podStatus = {
  phase: "Running",
  podIPs: [{ ip: "10.0.0.1" }],
  containerStatuses: [
    {
      name: "app",
      ready: true,
      containerID: "containerd://1",
      image: "app",
      imageID: "app",
      restartCount: 0,
      state: { running: { startedAt: "2026-01-01T00:00:00Z" } }
    }
  ]
}

const pong = daemonMessage.encode({ _tag: "Pong" })

/** Agents start and answer, except on pods named `no-image…`, where the agent's image is missing. */
const agents: Agents["Service"] = {
  ensure: (placement) =>
    placement?.podName.startsWith("no-image") === true
      ? Effect.fail(
          new AgentFailed({
            agent: "mirrord-agent-1",
            detail: "its image cannot be pulled: manifest for agent:1 not found"
          })
        )
      : Effect.succeed({
          name: `agent of ${placement?.podName ?? ""}`,
          uid: placement?.containerId ?? "",
          host: "10.0.0.1",
          port: 1
        }),
  giveUp: () => Effect.void,
  connect: () =>
    Effect.sync(() => {
      const channel = fakeChannel()
      return { ...channel, send: () => channel.receive(pong) }
    })
}

const unreachable = (): Effect.Effect<never, KubeError> =>
  Effect.fail(
    new KubeError({ cluster: "cluster-b", operation: "get", reason: "Unreachable", detail: "connection refused" })
  )

/**
 * An operator in this process, the primary of two clusters: `cluster-a` is the cluster itself and the default,
 * `cluster-b` is unreachable.
 */
const operatorOf = (api: KubeApi) => {
  const link = () => Effect.fail(new LinkRefused({ cluster: "cluster-b", reason: "", detail: "connection refused" }))
  const nobody: KubeApi = {
    ...api,
    cluster: "cluster-b",
    get: unreachable,
    list: unreachable,
    create: unreachable,
    mergePatch: unreachable,
    update: unreachable,
    delete: unreachable
  }
  return makeOperator({
    namespace: "mirrord",
    version: "test",
    ...defaultLimits,
    fleet: {
      clusterName: clusterName("cluster-a"),
      managementOnly: false,
      defaultCluster: clusterName("cluster-a"),
      sessionStart: "default",
      remoteSessionTimeoutSecs: 300,
      sessionTtlSecs: 3_600,
      members: [
        {
          name: clusterName("cluster-b"),
          server: "https://cluster-b",
          namespace: undefined,
          certificateAuthority: undefined,
          auth: { _tag: "BearerToken" },
          problems: []
        }
      ]
    }
  }).pipe(
    Effect.provideService(ClusterConnector, {
      own: { api, link },
      member: () => Effect.succeed({ api: nobody, link, reauthenticate: () => {} })
    }),
    Effect.provideService(Agents, agents)
  )
}

/** The texts of `kubectl describe` for sessions, as tests in the caller's `describe`. `assets`: folder of `kubectl`. */
export const describedSessions = (assets: string, start: () => Promise<DescribedCluster>): void => {
  let cluster: DescribedCluster
  let admin: KubeApi
  const scope = Scope.makeUnsafe()
  const run = <A, E>(effect: Effect.Effect<A, E, Scope.Scope>): Promise<A> =>
    Effect.runPromise(effect.pipe(Scope.provide(scope), Effect.provide(Logger.layer([]))))
  const apiOf = (kubeconfig: string): Promise<KubeApi> => {
    const config = new KubeConfig()
    config.loadFromString(kubeconfig)
    return run(makeKubeApi(config, "cluster-a"))
  }
  const kubectl = async (...args: ReadonlyArray<string>): Promise<string> =>
    (await promisify(execFile)(join(assets, "kubectl"), [`--kubeconfig=${cluster.kubeconfigPath}`, ...args])).stdout

  beforeAll(async () => {
    cluster = await start()
    await cluster.apply(
      [
        "mirrordmulticlustersessions",
        "mirrordclustersessions",
        "mirrordtlsstealconfigs",
        "mirrordclustertlsstealconfigs"
      ]
        .map((name) => readFileSync(join(crds, `${name}.yaml`), "utf8"))
        .join("---\n")
    )
    await cluster.apply(objects.map((object) => stringify(object)).join("---\n"))
    admin = await apiOf(readFileSync(cluster.kubeconfigPath, "utf8"))
    for (const app of ["works", "no-image"]) {
      await run(admin.create(podsOf, pod(app), "default"))
      await run(
        admin.mergePatch(podsOf, `${app}-1`, { status: podStatus }, { namespace: "default", subresource: "status" })
      )
    }
    const credentials = await cluster.credentialsFor("operator", [])
    const asOperator = kubeconfigYaml({
      cluster: "cluster-a",
      server: cluster.server,
      caPem: cluster.caPem,
      user: "operator",
      credentials: { certPem: String(credentials.cert), keyPem: String(credentials.key) }
    })
    await run(operatorOf(await apiOf(asOperator)))
  })
  afterAll(() => Effect.runPromise(Scope.close(scope, Exit.void)))

  const create = (name: string, kind: string, target: string): Promise<unknown> =>
    run(
      admin.create(parents, {
        apiVersion: "operator.metalbear.co/v1alpha",
        kind: "MirrordMultiClusterSession",
        metadata: { name },
        spec: {
          owner: { userId: "key", username: "ann", hostname: "laptop", k8sUsername: "ann@example.com" },
          namespace: "default",
          target: { apiVersion: "apps/v1", kind, name: target, container: "" },
          targetAlias: `${kind.toLowerCase()}.${target}`,
          clusters: ["cluster-a", "cluster-b"],
          primaryCluster: "cluster-a",
          defaultCluster: "cluster-a"
        }
      })
    )

  /** Waits until `kubectl describe` shows all these texts. */
  const described = (kind: string, name: string, texts: ReadonlyArray<string | RegExp>): Promise<void> =>
    eventually(`kubectl describe ${kind} ${name}`, async () => {
      const text = await kubectl("describe", kind, name)
      for (const wanted of texts) expect(text).toMatch(wanted)
    })

  /** A row in the table of Events. */
  const event = (type: string, reason: string, message: string): RegExp =>
    new RegExp(
      `^\\s*${type}\\s+${reason}\\s+\\S.*\\s+mirrord-operator\\s+${message.replace(/[.*+?^${}()|[\]\\]/gu, "\\$&")}`,
      "mu"
    )

  it("gives patterns of mounted paths by the documented command", async () => {
    const page = readFileSync(new URL("../../docs/operating/client-behaviour.md", import.meta.url), "utf8")
    const command = /^kubectl (get deployment my-app .*)jsonpath='(.*)'$/mu.exec(page)
    const mounts = ["/etc/my-app", "/var/cache"].map((mountPath, index) => ({ name: `v${index}`, mountPath }))
    const labels = { app: "my-app" }
    await cluster.apply(
      stringify({
        apiVersion: "apps/v1",
        kind: "Deployment",
        metadata: { name: "my-app", namespace: "default" },
        spec: {
          selector: { matchLabels: labels },
          template: {
            metadata: { labels },
            spec: {
              containers: [{ name: "app", image: "app", volumeMounts: mounts }],
              volumes: mounts.map(({ name }) => ({ name, emptyDir: {} }))
            }
          }
        }
      })
    )
    const printed = await kubectl(...(command?.[1] ?? "").trim().split(" "), `jsonpath=${command?.[2]}`)
    expect(printed).toBe("^/etc/my-app(/.*)?$\n^/var/cache(/.*)?$\n")
  })

  it("says of a session whose target does not exist what to check", async () => {
    await create("mc-0000000000000001", "Deployment", "nothing")
    await described("mmcs", "mc-0000000000000001", [
      event(
        "Normal",
        "Accepted",
        "A session for deployment.nothing in namespace default, in clusters cluster-a (default), cluster-b."
      ),
      event(
        "Warning",
        "Failed",
        "The session failed in cluster cluster-a: there is no deployment/nothing in namespace default; check the " +
          "target's name, container and namespace, and that it exists in that cluster."
      ),
      /Reason:\s+NoSuchTarget\n\s+Status:\s+True\n\s+Type:\s+Failed/u,
      /Phase:\s+Failed/u
    ])
  })

  it("says of one whose agents' image is missing which, and where", async () => {
    await create("mc-0000000000000002", "Deployment", "no-image")
    await described("mmcs", "mc-0000000000000002", [
      event(
        "Warning",
        "Failed",
        "The session failed in cluster cluster-a: agent mirrord-agent-1 cannot be started: its image cannot be " +
          "pulled: manifest for agent:1 not found; look at"
      ),
      /Phase:\s+Failed/u
    ])
  })

  it("says of one whose target has no pods that it has none", async () => {
    await create("mc-0000000000000003", "Deployment", "no-pods")
    await described("mmcs", "mc-0000000000000003", [
      event(
        "Warning",
        "Failed",
        "The session failed in cluster cluster-a: deployment/no-pods has no pods: none matches its labels app=no-pods"
      )
    ])
  })

  it("says of one that the operator may not look up whom to ask", async () => {
    await create("mc-0000000000000004", "StatefulSet", "forbidden")
    await described("mmcs", "mc-0000000000000004", [
      event(
        "Warning",
        "Failed",
        "The session failed in cluster cluster-a: the operator may not look up statefulset/forbidden"
      ),
      "ask the administrator of that cluster to grant the missing permission",
      /Reason:\s+Forbidden\n\s+Status:\s+True\n\s+Type:\s+Failed/u
    ])
  })

  it("says of one that goes on without a member why", async () => {
    const name = "mc-0000000000000005"
    await create(name, "Deployment", "works")
    await described("mmcs", name, [
      event("Normal", "ClusterReady", "The default cluster cluster-a is ready."),
      event("Warning", "ClusterLeftOut", "Cluster cluster-b takes no part in the session for now: "),
      event("Normal", "Ready", "The session is ready: 1 of 2 clusters ready, without cluster-b."),
      /Message:\s+1 of 2 clusters ready, without cluster-b\.\n\s+Observed Generation:\s+1\n\s+Reason:\s+Ready\n\s+Status:\s+True\n\s+Type:\s+Ready/u
    ])
    await described("mirrordclustersessions", `${name}-cluster-a`, [
      event(
        "Normal",
        "Starting",
        "The agents for Deployment works in namespace default are being started in cluster cluster-a."
      ),
      event(
        "Normal",
        "AgentReady",
        "The agents for Deployment works in namespace default are ready in cluster cluster-a."
      ),
      /Reason:\s+AgentUsable\n\s+Status:\s+True\n\s+Type:\s+Ready/u
    ])
  })
}
