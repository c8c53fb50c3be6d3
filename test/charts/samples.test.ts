import { Result } from "effect"
import { beforeAll, describe, expect, it } from "vitest"
import { sha256Hex } from "../../src/app/kernel/sha256-hex.ts"
import { Chart, type KubernetesObject, Rendered, type RenderOptions, samples } from "./chart.ts"
import { describeHelm } from "./describe-helm.ts"
import { asList, asMap, at } from "./json.ts"
import { settingsOf } from "./operator-settings.ts"
import { restrictedProblems } from "./restricted.ts"

const configMap = "mirrord-configmap"
const credentials = (rendered: Rendered): Readonly<Record<string, unknown>> =>
  Object.fromEntries(
    rendered
      .ofKind("Secret")
      .filter(
        (secret) => at(secret, "metadata", "labels", "operator.metalbear.co/remote-cluster-credentials") === "true"
      )
      .map((secret) => [
        `${String(at(secret, "metadata", "namespace"))}/${String(at(secret, "metadata", "name"))}`,
        secret["stringData"]
      ])
  )
const clusters = (rendered: Rendered): ReadonlyArray<unknown> =>
  asList(at(rendered.fileValue("clusters-config.yaml"), "clusters"))
const clusterNames = (rendered: Rendered): ReadonlyArray<unknown> =>
  clusters(rendered).map((cluster) => at(cluster, "name"))
const subjects = (rendered: Rendered, name: string): ReadonlyArray<string> =>
  asList(rendered.get("ClusterRoleBinding", name)["subjects"]).map((subject) =>
    [at(subject, "kind"), at(subject, "namespace"), at(subject, "name")].filter((part) => part !== undefined).join("/")
  )
const labels = (rendered: Rendered, kind: string, name: string): unknown =>
  at(rendered.get(kind, name), "metadata", "labels")
const annotations = (rendered: Rendered, kind: string, name: string): unknown =>
  at(rendered.get(kind, name), "metadata", "annotations")
const crds = (rendered: Rendered): ReadonlyArray<unknown> =>
  rendered.ofKind("CustomResourceDefinition").map((crd) => at(crd, "spec", "names", "plural"))
const primaryCrds = ["mirrordclustersessions", "mirrordmulticlustersessions"]
const isMemberOnly = (name: string): boolean => name.startsWith("mirrord-operator-envoy")

/** Each sample's expectations beyond what holds for all. A plain install's render comes second. */
const expectations: Readonly<Record<string, (rendered: Rendered, plain: Rendered) => void>> = {
  plain: (rendered) => {
    expect(rendered.names.filter((name) => !name.startsWith("CustomResourceDefinition/"))).toEqual([
      "APIService/v1.operator.metalbear.co",
      "ClusterRole/mirrord-hooks",
      "ClusterRole/mirrord-operator",
      "ClusterRole/mirrord-operator-ci",
      "ClusterRole/mirrord-operator-user",
      "ClusterRole/mirrord-operator-user-basic",
      "ClusterRoleBinding/mirrord-hooks",
      "ClusterRoleBinding/mirrord-operator",
      "ConfigMap/mirrord/mirrord-configmap",
      "Deployment/mirrord/mirrord-operator",
      "Job/mirrord/mirrord-cleanup",
      "Namespace/mirrord",
      "NetworkPolicy/mirrord/mirrord-operator-agents",
      "Pod/mirrord/mirrord-doctor",
      "PriorityClass/mirrord-agent-pod",
      "Role/default/mirrord-operator-events",
      "Role/kube-system/mirrord-operator-apiserver-authentication",
      "Role/mirrord/mirrord-operator",
      "Role/mirrord/mirrord-operator-agents",
      "RoleBinding/default/mirrord-operator-events",
      "RoleBinding/kube-system/mirrord-operator-apiserver-authentication",
      "RoleBinding/mirrord/mirrord-operator",
      "RoleBinding/mirrord/mirrord-operator-agents",
      "Service/mirrord/mirrord-operator",
      "ServiceAccount/mirrord/mirrord-hooks",
      "ServiceAccount/mirrord/mirrord-operator"
    ])
    expect(rendered.container["args"]).toEqual(["operator"])
    expect(Object.keys(rendered.env).filter((name) => name.startsWith("MIRRORD_"))).toEqual([
      "MIRRORD_OPERATOR_NAMESPACE"
    ])
    expect(rendered.fileValue("agent-config.yaml")).toEqual({
      inject_headers: true,
      priority_class: "mirrord-agent-pod"
    })
    expect(Object.keys(asMap(rendered.get("ConfigMap", configMap)["data"]))).toHaveLength(13)
    expect(rendered.file("pg-branch-config.yaml")).toBe("")
    expect(at(rendered.pod, "securityContext", "sysctls")).toEqual([
      { name: "net.ipv4.ip_unprivileged_port_start", value: "443" }
    ])
    expect(rendered.get("Service", "mirrord-operator")["spec"]).toEqual({
      type: "ClusterIP",
      selector: { app: "mirrord-operator", "mirrord-operator-leader": "true" },
      ports: [{ name: "https", port: 443, targetPort: "https" }]
    })
    // The leader puts its label on its pod itself: whoever just starts gets no requests.
    expect(at(rendered.get("Deployment", "mirrord-operator"), "spec", "template", "metadata", "labels")).toMatchObject({
      app: "mirrord-operator"
    })
    expect(
      at(
        rendered.get("Deployment", "mirrord-operator"),
        "spec",
        "template",
        "metadata",
        "labels",
        "mirrord-operator-leader"
      )
    ).toBeUndefined()
    expect(at(rendered.get("Deployment", "mirrord-operator"), "spec", "replicas")).toBe(1)
    expect(rendered.get("APIService", "v1.operator.metalbear.co")["spec"]).toEqual({
      group: "operator.metalbear.co",
      version: "v1",
      groupPriorityMinimum: 1000,
      versionPriority: 15,
      service: { name: "mirrord-operator", namespace: "mirrord", port: 443 }
    })
    expect(rendered.env["OPERATOR_OWN_CERTIFICATE"]).toBe("true")
    // By their labels: nobody but the operator's pods, whatever else runs in either namespace.
    expect(rendered.get("NetworkPolicy", "mirrord-operator-agents")).toMatchObject({
      metadata: { namespace: "mirrord" },
      spec: {
        podSelector: { matchLabels: { app: "mirrord", "operator.metalbear.co/owner": "mirrord-operator" } },
        policyTypes: ["Ingress"],
        ingress: [
          {
            from: [
              {
                namespaceSelector: { matchLabels: { "kubernetes.io/metadata.name": "mirrord" } },
                podSelector: { matchLabels: { app: "mirrord-operator" } }
              }
            ]
          }
        ]
      }
    })
  },
  multicluster_bearer_token: (rendered) => {
    expect(credentials(rendered)).toEqual({})
    expect(rendered.fileValue("multicluster-config.yaml")).toEqual({
      clusterName: "primary",
      defaultCluster: "staging-us-east",
      managementOnly: true,
      remoteSessionTimeoutSecs: 300,
      sessionTtlSecs: 60
    })
    expect(clusters(rendered)).toEqual([
      {
        name: "staging-us-east",
        server: "https://staging.example.com:6443",
        caData: "LS0tLS1CRUdJTi0tLS0tCg==",
        isDefault: true,
        authType: "bearerToken"
      }
    ])
    expect(rendered.env).toMatchObject({
      MIRRORD_MULTICLUSTER_CONFIG: "/mirrord-config/multicluster-config.yaml",
      MIRRORD_CLUSTERS_CONFIG: "/mirrord-config/clusters-config.yaml"
    })
    expect(crds(rendered)).toEqual(expect.arrayContaining(primaryCrds))
    expect(subjects(rendered, "mirrord-operator-envoy")).toEqual(["ServiceAccount/mirrord/mirrord-operator"])
    expect(rendered.find("ClusterRole", "mirrord-operator-envoy-remote")).toBeUndefined()
  },
  multicluster_bearer_token_inline: (rendered) => {
    expect(credentials(rendered)).toEqual({
      "mirrord/mirrord-cluster-staging": { bearerToken: "eyJhbGciOiJSUzI1NiJ9.e30.c2lnbmF0dXJl" }
    })
    expect(rendered.get("Secret", "mirrord-cluster-staging")["type"]).toBe("Opaque")
    expect(at(clusters(rendered)[0], "namespace")).toBe("mirrord-there")
    expect(JSON.stringify(rendered.get("ConfigMap", configMap))).not.toContain("eyJ")
  },
  multicluster_eks_auth: (rendered) => {
    expect(clusters(rendered)).toEqual([
      {
        name: "prod-eks",
        server: "https://0123456789.gr7.eu-west-1.eks.example.com",
        authType: "eks",
        region: "eu-west-1"
      }
    ])
    expect(annotations(rendered, "ServiceAccount", "mirrord-operator")).toBeUndefined()
  },
  multicluster_aks_auth: (rendered) => {
    expect(clusters(rendered)[0]).toMatchObject({
      authType: "aks",
      tenantId: "66666666-7777-8888-9999-000000000000",
      clientId: "11111111-2222-3333-4444-555555555555"
    })
    expect(annotations(rendered, "ServiceAccount", "mirrord-operator")).toEqual({
      "azure.workload.identity/client-id": "11111111-2222-3333-4444-555555555555"
    })
    expect(
      at(
        rendered.get("Deployment", "mirrord-operator"),
        "spec",
        "template",
        "metadata",
        "labels",
        "azure.workload.identity/use"
      )
    ).toBe("true")
  },
  multicluster_mtls: (rendered) => {
    expect(credentials(rendered)).toEqual({
      "mirrord/mirrord-cluster-secure-cluster": {
        "tls.crt": "Y2VydGlmaWNhdGUgb2YgdGhlIHByaW1hcnk=",
        "tls.key": "a2V5IG9mIHRoZSBwcmltYXJ5"
      }
    })
    expect(rendered.file("clusters-config.yaml")).not.toContain("a2V5")
  },
  multicluster_mixed_auth: (rendered) => {
    expect(clusterNames(rendered)).toEqual(["on-prem", "prod-eks", "staging-bearer"])
    expect(clusters(rendered).map((cluster) => at(cluster, "isDefault"))).toEqual([undefined, undefined, true])
    expect(Object.keys(credentials(rendered))).toEqual(["mirrord/mirrord-cluster-on-prem"])
    expect(annotations(rendered, "ServiceAccount", "mirrord-operator")).toEqual({
      "eks.amazonaws.com/role-arn": "arn:aws:iam::123456789012:role/mirrord-operator"
    })
  },
  multicluster_rfc: (rendered) => {
    expect(Object.keys(credentials(rendered)).toSorted()).toEqual([
      "mirrord/mirrord-cluster-remote-1",
      "mirrord/mirrord-cluster-remote-3"
    ])
    expect(clusters(rendered)).toHaveLength(3)
    expect(annotations(rendered, "ServiceAccount", "mirrord-operator")).toEqual({
      "eks.amazonaws.com/role-arn": "arn:aws:iam::123456789012:role/mirrord-operator-role"
    })
  },
  multicluster_custom_namespace: (rendered) => {
    expect(Object.keys(credentials(rendered))).toEqual(["mirrord-system/mirrord-cluster-a"])
    expect(subjects(rendered, "mirrord-operator-envoy")).toEqual(["ServiceAccount/mirrord-system/mirrord-operator"])
    expect(rendered.names.filter((name) => name.includes("/mirrord/"))).toEqual([])
  },
  multicluster_primary_default: (rendered) => {
    expect(rendered.fileValue("multicluster-config.yaml")).toMatchObject({
      clusterName: "here",
      defaultCluster: "here",
      managementOnly: false,
      remoteSessionTimeoutSecs: 300,
      sessionTtlSecs: 120
    })
  },
  multicluster_empty_clusters: (rendered) => {
    expect(rendered.file("clusters-config.yaml")).toBeUndefined()
    expect(rendered.env).toHaveProperty("MIRRORD_MULTICLUSTER_CONFIG")
    expect(rendered.env).not.toHaveProperty("MIRRORD_CLUSTERS_CONFIG")
  },
  multicluster_primary_and_member: (rendered) => {
    expect(subjects(rendered, "mirrord-operator-envoy")).toEqual([
      "ServiceAccount/mirrord/mirrord-operator",
      "ServiceAccount/mirrord/mirrord-operator-envoy"
    ])
    expect(subjects(rendered, "mirrord-operator-envoy-remote")).toEqual([
      "ServiceAccount/mirrord/mirrord-operator-envoy"
    ])
    expect(rendered.get("ServiceAccount", "mirrord-operator-envoy")).toBeDefined()
    expect(crds(rendered)).toEqual(expect.arrayContaining(primaryCrds))
  },
  multicluster_primary_and_iam_member: (rendered) => {
    expect(subjects(rendered, "mirrord-operator-envoy")).toEqual(["ServiceAccount/mirrord/mirrord-operator"])
    expect(subjects(rendered, "mirrord-operator-envoy-iam")).toEqual(["Group/primaries"])
    expect(subjects(rendered, "mirrord-operator-envoy-remote-iam")).toEqual(["Group/primaries"])
    expect(rendered.find("ServiceAccount", "mirrord-operator-envoy")).toBeUndefined()
  },
  multicluster_odd_names: (rendered) => {
    expect(clusterNames(rendered)).toEqual([
      "12345",
      "Prod_EU",
      "Zürich ☃",
      "arn:aws:eks:eu-west-1:123456789012:cluster/Prod"
    ])
    expect(Object.keys(credentials(rendered)).toSorted()).toEqual([
      "mirrord/mirrord-cluster-12345",
      "mirrord/mirrord-cluster-arn-aws-eks-eu-west-1-123456789012-cluster-prod-" +
        sha256Hex("arn:aws:eks:eu-west-1:123456789012:cluster/Prod").slice(0, 6),
      `mirrord/mirrord-cluster-prod-eu-${sha256Hex("Prod_EU").slice(0, 6)}`,
      `mirrord/mirrord-cluster-z-rich-${sha256Hex("Zürich ☃").slice(0, 6)}`
    ])
    expect(at(rendered.fileValue("multicluster-config.yaml"), "clusterName")).toBe("Head Office")
  },
  multicluster_with_features: (rendered) => {
    expect(rendered.env).toMatchObject({
      OPERATOR_PG_BRANCHING: "true",
      OPERATOR_KAFKA_SPLITTING: "true",
      OPERATOR_SQS_SPLITTING: "true",
      OPERATOR_PREVIEW_ENV: "true"
    })
    expect(rendered.rules("ClusterRole", "mirrord-operator-user").join("\n")).toContain(
      "dbs.mirrord.metalbear.co/branchdatabases,pgbranchdatabases,"
    )
    expect(rendered.rules("ClusterRole", "mirrord-operator-user").join("\n")).toContain(
      "preview.mirrord.metalbear.co/previewsessions: "
    )
  },
  child_in_multicluster: (rendered, plain) => {
    const memberNames = rendered.names.filter((name) => !plain.names.includes(name))
    expect(memberNames).toEqual([
      "ClusterRole/mirrord-operator-envoy",
      "ClusterRole/mirrord-operator-envoy-remote",
      "ClusterRoleBinding/mirrord-operator-envoy",
      "ClusterRoleBinding/mirrord-operator-envoy-remote",
      "Role/mirrord/mirrord-operator-envoy",
      "RoleBinding/mirrord/mirrord-operator-envoy",
      "ServiceAccount/mirrord/mirrord-operator-envoy"
    ])
    expect(rendered.env).toEqual({ ...plain.env, OPERATOR_MULTI_CLUSTER_MEMBER: "true" })
    expect(rendered.get("ConfigMap", configMap)).toEqual(plain.get("ConfigMap", configMap))
  },
  multicluster_member_iam: (rendered) => {
    expect(subjects(rendered, "mirrord-operator-envoy-iam")).toEqual(["Group/mirrord-operator-envoy"])
    expect(subjects(rendered, "mirrord-operator-envoy-remote-iam")).toEqual(["Group/mirrord-operator-envoy"])
    expect(
      rendered
        .ofKind("ClusterRoleBinding")
        .map((binding) => String(at(binding, "metadata", "name")))
        .filter(isMemberOnly)
    ).toHaveLength(2)
    expect(rendered.find("ServiceAccount", "mirrord-operator-envoy")).toBeUndefined()
    expect(rendered.find("Role", "mirrord-operator-envoy")).toBeUndefined()
  },
  multicluster_member_azure: (rendered) => {
    expect(subjects(rendered, "mirrord-operator-envoy-azure")).toEqual(["Group/99999999-aaaa-bbbb-cccc-dddddddddddd"])
    expect(subjects(rendered, "mirrord-operator-envoy-remote-azure")).toEqual([
      "Group/99999999-aaaa-bbbb-cccc-dddddddddddd"
    ])
  },
  multicluster_member_both_groups: (rendered) => {
    expect(
      rendered
        .ofKind("ClusterRoleBinding")
        .map((binding) => String(at(binding, "metadata", "name")))
        .filter(isMemberOnly)
        .toSorted()
    ).toEqual([
      "mirrord-operator-envoy-azure",
      "mirrord-operator-envoy-iam",
      "mirrord-operator-envoy-remote-azure",
      "mirrord-operator-envoy-remote-iam"
    ])
  },
  multicluster_member_custom_namespace: (rendered) => {
    expect(at(rendered.get("ServiceAccount", "mirrord-operator-envoy"), "metadata", "namespace")).toBe("elsewhere")
    expect(subjects(rendered, "mirrord-operator-envoy-remote")).toEqual([
      "ServiceAccount/elsewhere/mirrord-operator-envoy"
    ])
    expect(at(rendered.get("Role", "mirrord-operator-envoy"), "metadata", "namespace")).toBe("elsewhere")
  },
  multicluster_member_published_width: (rendered) => {
    expect(rendered.rules("ClusterRole", "mirrord-operator-envoy")).toContain(
      "queues.mirrord.metalbear.co/mirrordworkloadqueueregistries,mirrordsplitconfigs: " +
        "get,list,watch,create,update,patch,delete"
    )
    expect(rendered.rules("ClusterRole", "mirrord-operator-envoy-remote")).toContain("core/pods: create,patch,delete")
    expect(rendered.rules("ClusterRole", "mirrord-operator-envoy-remote")).toContain("core/secrets: create")
  },
  multicluster_member_subjects: (rendered) => {
    expect(subjects(rendered, "mirrord-operator-envoy-subjects")).toEqual(["User/primary.example.com"])
    expect(subjects(rendered, "mirrord-operator-envoy-remote-subjects")).toEqual(["User/primary.example.com"])
    expect(rendered.find("ServiceAccount", "mirrord-operator-envoy")).toBeDefined()
  },
  multicluster_group_without_member: (rendered, plain) => {
    expect(rendered.names).toEqual(plain.names)
  },
  image_tag: (rendered) => {
    const image = "registry.example.com/braid:1.2.3"
    expect(rendered.container).toMatchObject({ image, imagePullPolicy: "Always" })
    expect(rendered.env).toMatchObject({ OPERATOR_IMAGE: image, OPERATOR_IMAGE_PULL_POLICY: "Always" })
    expect(at(rendered.get("Job", "mirrord-cleanup"), "spec", "template", "spec", "containers", 0, "image")).toBe(image)
    for (const pod of [rendered.pod, at(rendered.get("Job", "mirrord-cleanup"), "spec", "template", "spec")])
      expect(at(pod, "imagePullSecrets")).toEqual([{ name: "pull" }])
    expect(at(rendered.fileValue("agent-config.yaml"), "image_pull_secrets")).toEqual([{ name: "pull" }])
  },
  operator_replicas: (rendered) => {
    const deployment = rendered.get("Deployment", "mirrord-operator")
    expect(at(deployment, "spec", "replicas")).toBe(2)
    expect(at(deployment, "spec", "strategy")).toEqual({
      type: "RollingUpdate",
      rollingUpdate: { maxSurge: 1, maxUnavailable: 0 }
    })
    expect(at(deployment, "spec", "template", "metadata", "labels")).toMatchObject({ team: "platform" })
    expect(at(deployment, "spec", "template", "metadata", "labels", "mirrord-operator-leader")).toBeUndefined()
    expect(rendered.container["env"]).toContainEqual({
      name: "OPERATOR_POD_UID",
      valueFrom: { fieldRef: { fieldPath: "metadata.uid" } }
    })
  },
  extra_env: (rendered) => {
    expect(rendered.env).toMatchObject({ ZERO: "0", LARGE: "12345678", FRACTION: "1.5", SWITCH: "false", WORD: "text" })
    expect(rendered.env).not.toHaveProperty("REMOVED")
  },
  extra_env_from: (rendered) => {
    expect(rendered.env["FROM_SECRET"]).toEqual({ secretKeyRef: { name: "some-secret", key: "some-key" } })
    expect(rendered.text).not.toContain("map[")
  },
  extra_env_replaces: (rendered) => {
    expect(rendered.env).toMatchObject({
      OPERATOR_ADDR: "0.0.0.0:443",
      OPERATOR_METRICS_ADDR: "0.0.0.0:9100",
      OTLP_TRACES_URL: "http://collector:4317"
    })
  },
  extra_volumes: (rendered) => {
    expect(asList(rendered.pod["volumes"]).map((volume) => at(volume, "name"))).toEqual([
      "config",
      "certificates",
      "tmp"
    ])
    expect(asList(rendered.container["volumeMounts"]).map((mount) => at(mount, "mountPath"))).toEqual([
      "/mirrord-config",
      "/etc/ssl/company",
      "/tmp"
    ])
  },
  extra_objects: (rendered) => {
    expect(rendered.get("ConfigMap", "braid-extra")).toMatchObject({
      metadata: { namespace: "mirrord" },
      data: { from: "values" }
    })
  },
  operator_affinity: (rendered) => {
    expect(at(rendered.pod, "affinity", "nodeAffinity")).toBeDefined()
  },
  operator_tolerations: (rendered) => {
    expect(rendered.pod["tolerations"]).toEqual([
      { key: "dedicated", operator: "Equal", value: "tools", effect: "NoSchedule" }
    ])
    expect(at(rendered.get("Job", "mirrord-cleanup"), "spec", "template", "spec", "tolerations")).toEqual(
      rendered.pod["tolerations"]
    )
  },
  operator_nodeselector: (rendered) => {
    expect(rendered.pod["nodeSelector"]).toEqual({ pool: "tools" })
  },
  operator_pod_metadata: (rendered) => {
    const deployment = rendered.get("Deployment", "mirrord-operator")
    expect(at(deployment, "spec", "template", "metadata", "labels")).toMatchObject({
      sidecar: "off",
      team: "platform",
      app: "mirrord-operator"
    })
    expect(at(deployment, "spec", "template", "metadata", "annotations", "scrape")).toBe("true")
    expect(labels(rendered, "Service", "mirrord-operator")).toMatchObject({ team: "platform", cost: "1000000" })
    expect(rendered.container["args"]).toEqual(["operator"])
    expect(rendered.pod["terminationGracePeriodSeconds"]).toBe(60)
  },
  operator_availability: (rendered) => {
    expect(rendered.pod["priorityClassName"]).toBe("system-cluster-critical")
    expect(rendered.pod["topologySpreadConstraints"]).toHaveLength(1)
    expect(rendered.get("PodDisruptionBudget", "mirrord-operator")["spec"]).toEqual({
      maxUnavailable: 1,
      selector: { matchLabels: { app: "mirrord-operator" } }
    })
    expect(rendered.get("NetworkPolicy", "mirrord-operator")["spec"]).toMatchObject({
      policyTypes: ["Ingress", "Egress"],
      ingress: [{ ports: [{ port: "https" }], from: [{ ipBlock: { cidr: "10.0.0.0/8" } }] }]
    })
  },
  operator_network_policy_open: (rendered) => {
    expect(rendered.get("NetworkPolicy", "mirrord-operator")["spec"]).toMatchObject({
      policyTypes: ["Ingress"],
      ingress: [{ ports: [{ port: "https", protocol: "TCP" }] }]
    })
  },
  operator_high_port: (rendered) => {
    expect(rendered.env).toMatchObject({ OPERATOR_ADDR: "[::]:8443", OPERATOR_FALLBACK_ADDR: "0.0.0.0:8443" })
    expect(at(rendered.pod, "securityContext", "sysctls")).toBeUndefined()
    expect(at(rendered.get("Service", "mirrord-operator"), "spec", "ports", 0, "port")).toBe(8443)
    expect(at(rendered.get("APIService", "v1.operator.metalbear.co"), "spec", "service", "port")).toBe(8443)
    for (const [probe, path] of [
      ["livenessProbe", "/livez"],
      ["readinessProbe", "/readyz/serving"]
    ] as const) {
      expect(at(rendered.container, probe, "httpGet")).toEqual({ path, port: 8443, scheme: "HTTPS" })
    }
  },
  operator_agent_tls: (rendered) => {
    expect(rendered.env["OPERATOR_AGENT_CONNECTION_TLS"]).toBe("true")
  },
  operator_agent_settings: (rendered) => {
    expect(rendered.env).toMatchObject({
      MIRRORD_AGENT_IMAGE: "registry.example.com/mirrord:3.260.0",
      MIRRORD_AGENT_NAMESPACE: "mirrord-agents",
      MIRRORD_AGENT_IMAGE_PULL_POLICY: "Always",
      MIRRORD_AGENT_RUST_LOG: "debug",
      OPERATOR_AGENT_PORT: "61337",
      OPERATOR_AGENT_EXTRA_ENV: '{"SOME":"setting"}'
    })
    expect(rendered.fileValue("agent-config.yaml")).toMatchObject({
      inject_headers: false,
      startup_timeout: 90,
      priority_class: "agents"
    })
    expect(rendered.get("PriorityClass", "agents")["value"]).toBe(1000000)
    for (const kind of ["Role", "RoleBinding"])
      expect(at(rendered.get(kind, "mirrord-operator-agents"), "metadata", "namespace")).toBe("mirrord-agents")
  },
  operator_ephemeral_agents: (rendered, plain) => {
    expect(rendered.fileValue("agent-config.yaml")).toMatchObject({ ephemeral: true, exclude_from_mesh: true })
    const rule = { apiGroups: [""], resources: ["pods/ephemeralcontainers"], verbs: ["update"] }
    expect(rendered.get("ClusterRole", "mirrord-operator")["rules"]).toContainEqual(rule)
    expect(plain.get("ClusterRole", "mirrord-operator")["rules"]).not.toContainEqual(rule)
  },
  operator_agent_existing_priority_class: (rendered) => {
    expect(rendered.ofKind("PriorityClass")).toEqual([])
    expect(rendered.fileValue("agent-config.yaml")).toMatchObject({
      priority_class: "company-class",
      image: "registry.example.com/mirrord:main"
    })
    expect(rendered.env["MIRRORD_AGENT_IMAGE"]).toBe("registry.example.com/mirrord:main")
  },
  operator_agent_own_priority_class: (rendered) => {
    expect(rendered.ofKind("PriorityClass")).toEqual([])
    expect(rendered.fileValue("agent-config.yaml")).toEqual({ priority_class_name: "mine", inject_headers: false })
  },
  operator_custom_namespace: (rendered) => {
    expect(rendered.get("Namespace", "tools")).toBeDefined()
    expect(rendered.names.filter((name) => name.includes("/mirrord/"))).toEqual([])
    expect(rendered.find("Role", "mirrord-operator-apiserver-authentication")).toMatchObject({
      metadata: { namespace: "kube-system" }
    })
  },
  operator_existing_service_account: (rendered) => {
    expect(rendered.ofKind("Namespace")).toEqual([])
    expect(rendered.ofKind("ServiceAccount").map((account) => at(account, "metadata", "name"))).toEqual([
      "mirrord-hooks"
    ])
    expect(subjects(rendered, "mirrord-operator")).toEqual(["ServiceAccount/tools/own-account"])
    expect(rendered.pod["serviceAccountName"]).toBe("own-account")
  },
  operator_google_identity: (rendered) => {
    expect(annotations(rendered, "ServiceAccount", "mirrord-operator")).toEqual({
      "iam.gke.io/gcp-service-account": "operator@project.iam.gserviceaccount.com"
    })
  },
  operator_license_key_and_pem: (rendered, plain) => {
    expect(rendered.names).toEqual(plain.names)
    expect(rendered.text).not.toContain("secret-key")
    expect(rendered.env["OPERATOR_TELEMETRY_ENABLED"]).toBe("false")
  },
  operator_openshift: (rendered) => {
    expect(rendered.get("SecurityContextConstraints", "scc-mirrord")).toMatchObject({
      allowHostPID: true,
      allowPrivilegedContainer: false,
      users: ["system:serviceaccount:tools:own-operator", "system:serviceaccount:agents:own-agent"]
    })
    expect(rendered.rules("ClusterRole", "mirrord-operator")).toContain(
      "mirrord.metalbear.co/mirrordclustersessions/finalizers: update"
    )
  },
  operator_role_labels: (rendered) => {
    expect(labels(rendered, "ClusterRole", "mirrord-operator-user-basic")).toHaveProperty(
      ["rbac.example.com/aggregate-to-view"],
      "true"
    )
    expect(labels(rendered, "ClusterRole", "mirrord-operator-user")).toHaveProperty(
      ["rbac.example.com/aggregate-to-edit"],
      "true"
    )
    expect(labels(rendered, "ClusterRole", "mirrord-operator-ci")).toHaveProperty(
      ["rbac.example.com/aggregate-to-ci"],
      "true"
    )
  },
  operator_rolenamespaces: (rendered) => {
    const roles = rendered.ofKind("Role").filter((role) => at(role, "metadata", "name") === "mirrord-operator-user")
    expect(roles.map((role) => at(role, "metadata", "namespace"))).toEqual(["default", "kube-public"])
    expect(at(roles[0], "metadata", "labels")).toEqual({ team: "shop" })
  },
  operator_kafka_sidecar: (rendered) => {
    expect(rendered.pod["containers"]).toHaveLength(1)
    expect(rendered.env).toMatchObject({ OPERATOR_KAFKA_SPLITTING: "true", OPERATOR_KAFKA_SPLITTING_TTL: "30000000" })
  },
  operator_sqs_splitting: (rendered) => {
    expect(rendered.env).toMatchObject({
      OPERATOR_QUEUE_SPLITTING_WAIT_FOR_READY_TARGET: "false",
      OPERATOR_SQS_SPLITTING: "false"
    })
  },
  operator_db_branch_allowed_images: (rendered) => {
    expect(rendered.text.match(/allowedImages:/gu)).toHaveLength(10)
    expect(rendered.fileValue("pg-branch-config.yaml")).toEqual({
      dbPod: { allowedImages: ["registry.example.com/db"], volume: { emptyDir: { sizeLimit: 10000000 } } }
    })
    expect(rendered.file("cockroachdb-branch-config.yaml")).toBe("")
    expect(rendered.env).toMatchObject({
      OPERATOR_MARIADB_BRANCHING: "true",
      OPERATOR_COCKROACHDB_BRANCHING: "false",
      OPERATOR_PG_BRANCH_CONFIG: "/mirrord-config/pg-branch-config.yaml"
    })
  },
  operator_preview_pod_metadata: (rendered) => {
    expect(rendered.fileValue("preview-config.yaml")).toEqual({
      annotations: { note: "preview" },
      labels: { team: "shop" },
      cleanupAfterMins: 15,
      idleHoldBufferMessages: 512,
      idleHoldBufferBytes: 8388608
    })
  },
  operator_large_numbers: (rendered) => {
    expect(rendered.env).toMatchObject({
      OPERATOR_MAX_SESSION_TIME_SECONDS: "1000000",
      OPERATOR_NO_POD_TARGETS_SESSION_TIMEOUT_MILLIS: "1234567",
      OPERATOR_EVENT_BUFFER_SIZE: "2097152",
      OPERATOR_SQS_SPLITTING_LINGER_TIMEOUT: "3600000",
      OPERATOR_TEMPORAL_PROXY_PORT: "17233"
    })
    expect(rendered.fileValue("multicluster-config.yaml")).toMatchObject({
      remoteSessionTimeoutSecs: 1000000,
      sessionTtlSecs: 31536000
    })
  },
  operator_numeric_names: (rendered) => {
    for (const object of rendered.objects) {
      expect([
        object["kind"],
        typeof at(object, "metadata", "name"),
        ["string", "undefined"].includes(typeof at(object, "metadata", "namespace"))
      ]).toEqual([object["kind"], "string", true])
    }
    expect(rendered.get("Deployment", "mirrord-operator")).toMatchObject({ metadata: { namespace: "1234567" } })
    expect(rendered.pod["serviceAccountName"]).toBe("0x10")
    expect(rendered.container["image"]).toBe("ghcr.io/braid-operator/braid:20260101")
    expect(subjects(rendered, "mirrord-operator")).toEqual(["ServiceAccount/1234567/0x10"])
    expect(subjects(rendered, "mirrord-operator-envoy-iam")).toEqual(["Group/99"])
    expect(at(rendered.get("APIService", "v1.operator.metalbear.co"), "spec", "service")).toEqual({
      name: "on",
      namespace: "1234567",
      port: 443
    })
    expect(rendered.env["MIRRORD_AGENT_NAMESPACE"]).toBe("8888")
  },
  operator_null_maps: (rendered) => {
    expect(rendered.env).toMatchObject({
      OPERATOR_TEMPORAL_PROXY_PORT: "7233",
      OPERATOR_COPY_TARGET_USE_AGENT_IMAGE: "true",
      OPERATOR_REQUIRE_FRONT_PROXY_CLIENT_CERT: "true"
    })
    expect(rendered.get("APIService", "v1.operator.metalbear.co")["spec"]).not.toHaveProperty("insecureSkipTLSVerify")
    expect(rendered.pod["serviceAccountName"]).toBe("mirrord-operator")
  },
  operator_null_multicluster_values: (rendered) => {
    expect(rendered.fileValue("multicluster-config.yaml")).toEqual({
      clusterName: "primary",
      defaultCluster: "",
      managementOnly: false,
      remoteSessionTimeoutSecs: 300,
      sessionTtlSecs: 60
    })
  },
  operator_text_switches: (rendered) => {
    expect(rendered.ofKind("Namespace")).toEqual([])
    expect(rendered.fileValue("multicluster-config.yaml")).toMatchObject({
      managementOnly: false,
      remoteSessionTimeoutSecs: 60
    })
    expect(clusters(rendered).map((cluster) => at(cluster, "isDefault"))).toEqual([undefined, true])
    expect(rendered.env).toMatchObject({ OPERATOR_JSON_LOG: "true", OPERATOR_TELEMETRY_ENABLED: "false" })
    expect(rendered.find("ServiceAccount", "mirrord-operator-envoy")).toBeDefined()
  },
  tls_inline: (rendered) => {
    expect(rendered.get("Secret", "mirrord-operator-tls")).toMatchObject({
      type: "kubernetes.io/tls",
      stringData: { "tls.key": "the-key", "tls.crt": "the-certificate" }
    })
    expect(rendered.env).toMatchObject({
      OPERATOR_TLS_CERT_PATH: "/tls/tls.crt",
      OPERATOR_TLS_KEY_PATH: "/tls/tls.key"
    })
    // As in the published chart: nobody says whose certificate it is.
    expect(rendered.get("APIService", "v1.operator.metalbear.co")["spec"]).toMatchObject({
      insecureSkipTLSVerify: true,
      caBundle: null
    })
    expect(rendered.env).not.toHaveProperty("OPERATOR_OWN_CERTIFICATE")
  },
  tls_existing_secret: (rendered) => {
    expect(rendered.ofKind("Secret")).toEqual([])
    expect(rendered.pod["volumes"]).toContainEqual({ name: "tls", secret: { secretName: "company-certificate" } })
    expect(rendered.get("APIService", "v1.operator.metalbear.co")["spec"]).toMatchObject({ caBundle: "Y2E=" })
    expect(rendered.get("APIService", "v1.operator.metalbear.co")["spec"]).not.toHaveProperty("insecureSkipTLSVerify")
  },
  tls_cert_manager: (rendered) => {
    expect(rendered.get("Certificate", "mirrord-operator-tls")["spec"]).toEqual({
      secretName: "mirrord-operator-tls",
      dnsNames: ["custom-service.tools.svc", "custom-service.tools", "custom-service"],
      issuerRef: { kind: "Issuer", name: "mirrord-operator-issuer" }
    })
    expect(rendered.get("Issuer", "mirrord-operator-issuer")["spec"]).toEqual({ selfSigned: {} })
    expect(annotations(rendered, "APIService", "v1.operator.metalbear.co")).toEqual({
      "cert-manager.io/inject-ca-from": "tools/mirrord-operator-tls"
    })
    expect(at(rendered.get("APIService", "v1.operator.metalbear.co"), "spec", "service", "name")).toBe("custom-service")
    expect(rendered.env["OPERATOR_SERVICE_NAME"]).toBe("mirrord-operator")
  },
  unknown_values: (rendered) => {
    expect(clusters(rendered)).toEqual([{ name: "a", server: "https://a.example.com", authType: "bearerToken" }])
  }
}

/** A sample in another release, which many installs have in common. */
const elsewhere = (sample: string): RenderOptions => ({ sample, namespace: "somewhere-else" })
/** All objects in one order; of custom resources, which are the same for all values, the names. */
const comparable = ({ objects }: Rendered): ReadonlyArray<KubernetesObject> =>
  objects
    .map((object) =>
      object["kind"] === "CustomResourceDefinition"
        ? { kind: object["kind"], metadata: { name: at(object, "metadata", "name") } }
        : object
    )
    .toSorted((one, other) => (Rendered.nameOf(one) < Rendered.nameOf(other) ? -1 : 1))

describeHelm("samples of values", (helm) => {
  const chart = new Chart(helm)
  const renders = new Map<string, Rendered>()
  const rendered = (sample: string): Rendered => {
    const found = renders.get(sample)
    if (found === undefined) throw new Error(`there is no sample ${sample}`)
    return found
  }
  beforeAll(async () => {
    for (const sample of samples) renders.set(sample, await chart.render({ sample }))
    await chart.prepare(samples.map(elsewhere))
  })

  it("each have an expectation", () => {
    expect(Object.keys(expectations).toSorted()).toEqual(samples)
  })

  describe.each(samples)("%s", (sample) => {
    it("renders what it is for", () => {
      expectations[sample]?.(rendered(sample), rendered("plain"))
    })

    it("holds every object once", () => {
      const { names } = rendered(sample)
      expect(names.filter((name, index) => names.indexOf(name) !== index)).toEqual([])
    })

    it("depends neither on the release's namespace nor on what is rendered beside it", async () => {
      expect(comparable(await chart.render(elsewhere(sample)))).toEqual(comparable(rendered(sample)))
    })

    it("runs pods under the restricted Pod Security Standard, with a file system that cannot be written", () => {
      const pods = rendered(sample).objects.flatMap((object) =>
        object["kind"] === "Pod" ? [object["spec"]] : [at(object, "spec", "template", "spec") ?? []].flat()
      )
      expect(pods).toHaveLength(3)
      for (const pod of pods) {
        expect(restrictedProblems(pod)).toEqual([])
        for (const container of asList(at(pod, "containers")))
          expect(at(container, "securityContext", "readOnlyRootFilesystem")).toBe(true)
      }
    })

    it("tests itself as the operator: its account, image, variables and files, under none of its labels", () => {
      const test = rendered(sample).get("Pod", "mirrord-doctor")
      expect(at(test, "metadata", "annotations")).toEqual({
        "helm.sh/hook": "test",
        "helm.sh/hook-delete-policy": "before-hook-creation"
      })
      const { container, pod } = rendered(sample)
      const spec = asMap(test["spec"])
      const [doctor] = asList(spec["containers"]).map(asMap)
      expect(doctor).toMatchObject({ args: ["doctor"], image: container["image"], env: container["env"] })
      for (const field of ["serviceAccountName", "nodeSelector", "tolerations", "imagePullSecrets"])
        expect([field, spec[field]]).toEqual([field, pod[field]])
      const withoutTls = (list: unknown): ReadonlyArray<unknown> =>
        asList(list).filter((one) => at(one, "name") !== "tls")
      expect([spec["volumes"], doctor?.["volumeMounts"]]).toEqual([
        withoutTls(pod["volumes"]),
        withoutTls(container["volumeMounts"])
      ])
      const selector = asMap(
        at(
          rendered(sample).get("Service", String(at(rendered(sample).ofKind("Service")[0], "metadata", "name"))),
          "spec",
          "selector"
        )
      )
      const labels = asMap(at(test, "metadata", "labels"))
      expect(Object.entries(selector).every(([name, value]) => labels[name] === value)).toBe(false)
      expect(labels["app"]).not.toBe("mirrord-operator")
    })

    it("grants nothing by a wildcard, and tokens of one account only", () => {
      for (const kind of ["Role", "ClusterRole"]) {
        for (const role of rendered(sample).ofKind(kind)) {
          for (const rule of asList(role["rules"])) {
            for (const field of ["apiGroups", "resources", "verbs"]) expect(at(rule, field)).not.toContain("*")
            if (asList(at(rule, "resources")).includes("serviceaccounts/token")) {
              expect([kind, at(rule, "resourceNames")]).toEqual(["Role", ["mirrord-operator-envoy"]])
            }
          }
        }
      }
    })

    it("binds only roles and accounts that are there, or that are given", () => {
      const { objects } = rendered(sample)
      const names = new Set(
        objects.map((object) => `${String(object["kind"])}/${String(at(object, "metadata", "name"))}`)
      )
      for (const binding of objects.filter(({ kind }) => kind === "RoleBinding" || kind === "ClusterRoleBinding")) {
        expect(names).toContain(`${String(at(binding, "roleRef", "kind"))}/${String(at(binding, "roleRef", "name"))}`)
        for (const subject of asList(binding["subjects"])) {
          if (at(subject, "kind") === "ServiceAccount" && at(subject, "name") !== "own-account")
            expect(names).toContain(`ServiceAccount/${String(at(subject, "name"))}`)
        }
      }
    })

    it("keeps custom resources and their objects when the release or a feature goes", () => {
      for (const definition of rendered(sample).ofKind("CustomResourceDefinition"))
        expect(at(definition, "metadata", "annotations", "helm.sh/resource-policy")).toBe("keep")
    })

    it("starts the operator", async () => {
      const settings = await settingsOf(rendered(sample))
      expect(Result.isFailure(settings) ? settings.failure : "").toBe("")
    })

    it("has no two variables of one name", () => {
      expect(Object.keys(rendered(sample).env).length).toBeGreaterThan(50)
    })
  })
})
