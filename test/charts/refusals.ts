/** Values that must not install, and every sentence that helm has to say about them. */
export interface Refusal {
  readonly name: string
  readonly values: object
  readonly sentences: ReadonlyArray<string>
}

const server = "https://a.example.com"
const bearer = { authType: "bearerToken", server }
const primary = (multiCluster: object): object => ({ operator: { multiCluster: { enabled: true, ...multiCluster } } })
const where = "operator.multiCluster"
const authTypes = "write one of bearerToken, eks, aks, mtls."
const serverCure = "write the URL of its API server, for example https://api.example.com:6443."

const caCure = "write the PEM of the API server's CA, or base64 of it."
const noDefault = "no session can start without a default cluster"

const noSessionTime = "it must be a whole number of seconds from 1 to 315360000"
const sessionTimeCure = "write for example 28800, or leave it out."
const noPodlessTime = "it must be a whole number of milliseconds from 1 to 315360000"
const podlessTimeCure = "write for example 120000, or leave it out for 60000."
const noBound = "it must be a whole number from 1 to 10000"
const boundCure = "write for example 100, or leave it out."

const leaseTimes = (problem: string): string =>
  "operator.extraEnv: OPERATOR_LEASE_DURATION_SECS, OPERATOR_LEASE_RENEW_DEADLINE_SECS and " +
  `OPERATOR_LEASE_RETRY_PERIOD_SECS do not fit together: ${problem}; leave them out for 15, 10 and 2.`

export const refusals: ReadonlyArray<Refusal> = [
  {
    name: "a collector that is no URL, and one with a password",
    values: {
      operator: {
        otelTraceExportUrl: "collector:4317",
        extraEnv: { OTEL_EXPORTER_OTLP_ENDPOINT: "http://user@collector:4318" }
      }
    },
    sentences: [
      "operator.otelTraceExportUrl: it must be an http or https URL without a user " +
        '(found "collector:4317"); write for example http://collector:4318.',
      "operator.extraEnv.OTEL_EXPORTER_OTLP_ENDPOINT: it must be an http or https URL without a user " +
        '(found "http://user@collector:4318"); write for example http://collector:4318.'
    ]
  },
  {
    name: "a cluster without authType",
    values: primary({ clusters: { a: { server } } }),
    sentences: [`${where}.clusters.a.authType: a does not say how to authenticate (found nothing); ${authTypes}`]
  },
  {
    name: "an empty authType",
    values: primary({ clusters: { a: { server, authType: "" } } }),
    sentences: [`${where}.clusters.a.authType: a does not say how to authenticate (found ""); ${authTypes}`]
  },
  {
    name: "an unknown authType",
    values: primary({ clusters: { a: { server, authType: "token" } } }),
    sentences: [`${where}.clusters.a.authType: this authType does not exist (found "token"); ${authTypes}`]
  },
  {
    name: "an authType in another spelling",
    values: primary({ clusters: { a: { server, authType: "BearerToken" } } }),
    sentences: [`${where}.clusters.a.authType: this authType does not exist (found "BearerToken"); ${authTypes}`]
  },
  {
    name: "an authType that is a list",
    values: primary({ clusters: { a: { server, authType: ["eks"] } } }),
    sentences: [`${where}.clusters.a.authType: this authType does not exist (found ["eks"]); ${authTypes}`]
  },
  {
    name: "a cluster without server",
    values: primary({ clusters: { a: { authType: "mtls" } } }),
    sentences: [`${where}.clusters.a.server: a has no server (found nothing); ${serverCure}`]
  },
  {
    name: "a server of spaces",
    values: primary({ clusters: { a: { authType: "mtls", server: "  " } } }),
    sentences: [`${where}.clusters.a.server: a has no server (found "  "); ${serverCure}`]
  },
  {
    name: "a server that is a map",
    values: primary({ clusters: { a: { authType: "mtls", server: { url: "x" } } } }),
    sentences: [`${where}.clusters.a.server: a has no server (found {"url":"x"}); ${serverCure}`]
  },
  {
    name: "a server without https, one with a user, and one that is no URL",
    values: primary({
      clusters: {
        a: { ...bearer, server: "http://a.example.com" },
        b: { ...bearer, server: "https://me@b.example.com" },
        c: { ...bearer, server: "nowhere" }
      }
    }),
    sentences: [
      ["a", "http://a.example.com"],
      ["b", "https://me@b.example.com"],
      ["c", "nowhere"]
    ].map(
      ([name = "", found = ""]) =>
        `${where}.clusters.${name}.server: the server of ${name} must be an https URL without a user (found ` +
        `"${found}"); write for example https://api.example.com:6443.`
    )
  },
  {
    name: "CAs that are none, as text and as base64, and one that is a list",
    values: primary({
      clusters: {
        a: { ...bearer, caData: "not base64 at all!" },
        b: { ...bearer, caData: "bm90IGEgY2VydGlmaWNhdGU=" },
        c: { ...bearer, caData: ["-----BEGIN CERTIFICATE-----"] }
      }
    }),
    sentences: [
      `${where}.clusters.a.caData: it is no certificate (found "something else"); ${caCure}`,
      `${where}.clusters.b.caData: it is no certificate (found "something else"); ${caCure}`,
      `${where}.clusters.c.caData: caData must be text (found "a map or a list"); ${caCure}`
    ]
  },
  {
    name: "clusters without a default one",
    values: primary({ clusterName: "hub", managementOnly: false, clusters: { a: bearer, b: bearer } }),
    sentences: [`${where}.defaultCluster: ${noDefault} (found ""); name one of hub, a, b.`]
  },
  {
    name: "clusters that are found, and no default one",
    values: primary({ providers: ["kubeconfigSecrets"], defaultCluster: null }),
    sentences: [`${where}.defaultCluster: ${noDefault} (found nothing); name the cluster that is to be it.`]
  },
  {
    name: "an empty cluster",
    values: primary({ clusters: { a: {} } }),
    sentences: [
      `${where}.clusters.a.authType: a does not say how to authenticate (found nothing); ${authTypes}`,
      `${where}.clusters.a.server: a has no server (found nothing); ${serverCure}`
    ]
  },
  {
    name: "a cluster that is a text",
    values: primary({ clusters: { a: server } }),
    sentences: [`${where}.clusters.a: a cluster must be a map (found "${server}"); write at least server and authType.`]
  },
  {
    name: "clusters as a list",
    values: primary({ clusters: [{ name: "a", ...bearer }] }),
    sentences: [
      `${where}.clusters: it must hold a map (found ` +
        `[{"authType":"bearerToken","name":"a","server":"${server}"}]); write keys below it.`
    ]
  },
  {
    name: "management-only with itself as default",
    values: primary({ clusterName: "hub", defaultCluster: "hub", clusters: { a: bearer } }),
    sentences: [
      `${where}.defaultCluster: a management-only cluster has no workloads and cannot be its own default (found ` +
        `"hub"); name another cluster, or set managementOnly to false.`
    ]
  },
  {
    name: "management-only with itself as default, by its default name and without clusters",
    values: primary({ defaultCluster: "primary" }),
    sentences: [
      `${where}.defaultCluster: a management-only cluster has no workloads and cannot be its own default (found ` +
        `"primary"); name another cluster, or set managementOnly to false.`
    ]
  },
  {
    name: "a default cluster that does not exist",
    values: primary({ defaultCluster: "staging", clusters: { b: bearer, a: bearer } }),
    sentences: [`${where}.defaultCluster: no cluster has this name (found "staging"); name one of a, b.`]
  },
  {
    name: "a default cluster that does not exist, where the primary has workloads",
    values: primary({ clusterName: "hub", managementOnly: false, defaultCluster: "staging", clusters: { a: bearer } }),
    sentences: [`${where}.defaultCluster: no cluster has this name (found "staging"); name one of hub, a.`]
  },
  {
    name: "a default cluster in other case",
    values: primary({ defaultCluster: "A", clusters: { a: bearer } }),
    sentences: [`${where}.defaultCluster: no cluster has this name (found "A"); name one of a.`]
  },
  {
    name: "two defaults",
    values: primary({ clusters: { a: { ...bearer, isDefault: true }, b: { ...bearer, isDefault: true } } }),
    sentences: [
      `${where}.clusters.b.isDefault: b is marked as default although a is already (found true); leave isDefault ` +
        "at one cluster only."
    ]
  },
  {
    name: "three defaults",
    values: primary({
      defaultCluster: "c",
      clusters: {
        a: { ...bearer, isDefault: true },
        b: { ...bearer, isDefault: "true" },
        c: { ...bearer, isDefault: true }
      }
    }),
    sentences: [
      `${where}.clusters.b.isDefault: b is marked as default although a is already (found true); leave isDefault ` +
        "at one cluster only.",
      `${where}.clusters.c.isDefault: c is marked as default although a is already (found true); leave isDefault ` +
        "at one cluster only."
    ]
  },
  {
    name: "isDefault against defaultCluster",
    values: primary({ defaultCluster: "b", clusters: { a: { ...bearer, isDefault: true }, b: bearer } }),
    sentences: [
      `${where}.clusters.a.isDefault: a is marked as default but defaultCluster is b (found true); make the two ` +
        "agree, or leave isDefault out."
    ]
  },
  {
    name: "isDefault against the primary as default",
    values: primary({
      clusterName: "hub",
      managementOnly: false,
      defaultCluster: "hub",
      clusters: { a: { ...bearer, isDefault: true } }
    }),
    sentences: [
      `${where}.clusters.a.isDefault: a is marked as default but defaultCluster is hub (found true); make the ` +
        "two agree, or leave isDefault out."
    ]
  },
  {
    name: "isDefault that is neither true nor false",
    values: primary({ clusters: { a: { ...bearer, isDefault: "yes" } } }),
    sentences: [
      `${where}.clusters.a.isDefault: isDefault must be true or false (found "yes"); write true, or leave it out.`
    ]
  },
  {
    name: "a cluster with the primary's name",
    values: primary({ clusterName: "hub", defaultCluster: "a", clusters: { a: bearer, hub: bearer } }),
    sentences: [
      `${where}.clusters.hub: the name collides with clusterName hub, the primary itself (found "hub"); rename ` +
        "one of the two."
    ]
  },
  {
    name: "a cluster with the name that the primary has by default",
    values: primary({ clusters: { primary: bearer } }),
    sentences: [
      `${where}.clusters.primary: the name collides with clusterName primary, the primary itself (found ` +
        `"primary"); rename one of the two.`
    ]
  },
  {
    name: "a cluster whose objects would be named like another's",
    // The second is the slug of the first.
    values: primary({ clusters: { Prod_EU: bearer, "prod-eu-510067": bearer } }),
    sentences: [
      `${where}.clusters.prod-eu-510067: the name collides with that of Prod_EU (found "prod-eu-510067"); rename ` +
        "one of the two."
    ]
  },
  {
    name: "a cluster with an empty name",
    values: primary({ clusters: { "": bearer } }),
    sentences: [`${where}.clusters.: a cluster needs a name (found ""); write the name by which you know the cluster.`]
  },
  {
    name: "a cluster with a name that is too long",
    values: primary({ clusters: { ["x".repeat(254)]: bearer } }),
    sentences: [
      `${where}.clusters.${"x".repeat(254)}: a cluster's name may have at most 253 characters (found ` +
        `"${"x".repeat(79)}); write the name by which you know the cluster.`
    ]
  },
  {
    name: "a cluster with a line break in its name",
    values: primary({ clusters: { "a\tb": bearer } }),
    sentences: [
      `${where}.clusters.a\tb: a cluster's name may not hold control characters (found "a\\tb"); write the name ` +
        "by which you know the cluster."
    ]
  },
  {
    name: "a clusterName of spaces",
    values: primary({ clusterName: " " }),
    sentences: [`${where}.clusterName: a cluster needs a name (found " "); give this cluster another name.`]
  },
  {
    name: "a clusterName that is a list",
    values: primary({ clusterName: ["hub"] }),
    sentences: [`${where}.clusterName: clusterName must be text (found ["hub"]); write it in quotes.`]
  },
  {
    name: "a defaultCluster that is a map",
    values: primary({ defaultCluster: { name: "a" }, clusters: { a: bearer } }),
    sentences: [`${where}.defaultCluster: defaultCluster must be text (found {"name":"a"}); write it in quotes.`]
  },
  {
    name: "managementOnly that is neither true nor false",
    values: primary({ managementOnly: "maybe" }),
    sentences: [`${where}.managementOnly: managementOnly must be true or false (found "maybe"); write true or false.`]
  },
  {
    name: "PRIMARY_MANAGEMENT_ONLY that is neither true nor false",
    values: { operator: { extraEnv: { PRIMARY_MANAGEMENT_ONLY: "maybe" } } },
    sentences: [
      `operator.extraEnv.PRIMARY_MANAGEMENT_ONLY: it must be true or false (found "maybe"); write true or false.`
    ]
  },
  {
    name: "PRIMARY_MANAGEMENT_ONLY with itself as default",
    values: {
      operator: {
        multiCluster: { enabled: true, managementOnly: false, defaultCluster: "primary" },
        extraEnv: { PRIMARY_MANAGEMENT_ONLY: "yes" }
      }
    },
    sentences: [
      `${where}.defaultCluster: a management-only cluster has no workloads and cannot be its own default (found ` +
        `"primary"); name another cluster, or set managementOnly to false.`
    ]
  },
  {
    name: "managementOnly as a number",
    values: primary({ managementOnly: 1 }),
    sentences: [`${where}.managementOnly: managementOnly must be true or false (found 1); write true or false.`]
  },
  {
    name: "a negative time",
    values: primary({ sessionTtlSecs: -1 }),
    sentences: [
      `${where}.sessionTtlSecs: sessionTtlSecs must be a whole number of seconds above 0 (found -1); write for ` +
        "example 60."
    ]
  },
  {
    name: "a time with a unit",
    values: primary({ remoteSessionTimeoutSecs: "5m" }),
    sentences: [
      `${where}.remoteSessionTimeoutSecs: remoteSessionTimeoutSecs must be a whole number of seconds above 0 ` +
        `(found "5m"); write for example 300.`
    ]
  },
  {
    name: "a fraction of a second",
    values: primary({ sessionTtlSecs: 0.5 }),
    sentences: [
      `${where}.sessionTtlSecs: sessionTtlSecs must be a whole number of seconds above 0 (found 0.5); write for ` +
        "example 60."
    ]
  },
  {
    name: "an unknown start of sessions",
    values: primary({ sessionStart: "any" }),
    sentences: [`${where}.sessionStart: sessionStart must be default or all (found "any"); write default or all.`]
  },
  {
    name: "providers that are no list",
    values: primary({ providers: "kubeconfigSecrets" }),
    sentences: [
      `${where}.providers: providers must be a list (found "kubeconfigSecrets"); write for example [kubeconfigSecrets].`
    ]
  },
  {
    name: "a provider that does not exist",
    values: primary({ providers: ["kubeconfigSecrets", "capi"] }),
    sentences: [
      `${where}.providers[1]: this provider does not exist (found "capi"); write kubeconfigSecrets, kubeconfigFile, ` +
        "kubeconfigDirectory, clusterApi or clusterProfile."
    ]
  },
  {
    name: "a namespace for Cluster API that is none",
    values: primary({ clusterApiNamespace: "a.b" }),
    sentences: [
      `${where}.clusterApiNamespace: it must be the name of a namespace (found "a.b"); write its name, or leave it ` +
        "out for the operator's."
    ]
  },
  {
    name: "a namespace for ClusterProfiles that is none",
    values: primary({ clusterProfileNamespace: "a.b" }),
    sentences: [
      `${where}.clusterProfileNamespace: it must be the name of a namespace (found "a.b"); write its name, or ` +
        "leave it out for the operator's."
    ]
  },
  {
    name: "access providers that are no list",
    values: primary({ accessProviders: { name: "a" } }),
    sentences: [
      `${where}.accessProviders: it must be a list (found "something else"); write an entry with name and execConfig ` +
        "for each."
    ]
  },
  {
    name: "an access provider without a program",
    values: primary({ accessProviders: [{ name: "a", policy: 1, profileSourcedCLIArgsPolicy: "Append" }] }),
    sentences: [
      `${where}.accessProviders[0].policy: there is no such field (found "something else"); leave it out.`,
      `${where}.accessProviders[0].profileSourcedCLIArgsPolicy: it must be Ignore (found "Append"); leave it out; ` +
        "nothing that a ClusterProfile says becomes an argument or a variable of a program.",
      `${where}.accessProviders[0].execConfig: it must be a map (found "something else"); write at least apiVersion ` +
        "and command."
    ]
  },
  {
    name: "a program that cannot be run without a terminal, by a path that depends on the folder",
    values: primary({
      accessProviders: [
        {
          name: "a",
          execConfig: { apiVersion: "v1", command: "./a", args: [1], env: { A: "b" }, interactiveMode: "Always" }
        }
      ]
    }),
    sentences: [
      `${where}.accessProviders[0].execConfig.apiVersion: it must be client.authentication.k8s.io/v1 or ` +
        'client.authentication.k8s.io/v1beta1 (found "v1"); write the version that the program speaks.',
      `${where}.accessProviders[0].execConfig.command: it must be an absolute path, or a name in PATH (found "./a"); ` +
        "write the program's absolute path in the operator's pod.",
      `${where}.accessProviders[0].execConfig.args: it must be a list of texts (found "something else"); write ` +
        "numbers and switches in quotes.",
      `${where}.accessProviders[0].execConfig.env: it must be a list of name and value (found "something else"); ` +
        "write both as texts.",
      `${where}.accessProviders[0].execConfig.interactiveMode: it must be Never or IfAvailable (found "Always"); the ` +
        "operator has no terminal; leave it out."
    ]
  },
  {
    name: "credentials that are no text",
    values: primary({ clusters: { a: { ...bearer, bearerToken: { secretKeyRef: "x" } } } }),
    sentences: [
      `${where}.clusters.a.bearerToken: bearerToken must be text (found "a map or a list"); write the text ` +
        "itself, or make the Secret by hand."
    ]
  },
  {
    name: "a port out of range",
    values: { operator: { port: 70000 } },
    sentences: [
      `operator.port: it must be a port from 1 to 65535 (found 70000); write for example 443, or leave it out.`
    ]
  },
  {
    name: "settings of agents of the wrong kind",
    values: {
      agent: {
        image: 5,
        extraConfig: {
          tolerations: [{ key: "a", operator: "Exist" }],
          resources: { limit: {} },
          labels: { version: 1.1 },
          privileged: "yes",
          ttl: "long"
        }
      }
    },
    sentences: [
      "agent.image: it must be text, or a map of registry and tag (found 5); write it in quotes.",
      "agent.extraConfig.labels.version: it must be text (found 1.1); write it in quotes.",
      `agent.extraConfig.privileged: it must be true or false (found "yes"); write true or false without quotes.`,
      "agent.extraConfig.resources.limit: there is no such field (found {}); write one of limits, requests.",
      `agent.extraConfig.tolerations[0].operator: it must be one of Exists, Equal (found "Exist"); write one of them.`,
      `agent.extraConfig.ttl: it must be a whole number from 0 to 65535 (found "long"); write it without quotes.`
    ]
  },
  {
    name: "environment of agents that is no text",
    values: { agent: { extraEnv: { A: { valueFrom: {} } } } },
    sentences: [
      `agent.extraEnv.A: a variable must have a name and be text (found {"valueFrom":{}}); write the text in quotes.`
    ]
  },
  {
    name: "a certificate of agents' operator, in both places",
    values: {
      agent: { extraEnv: { AGENT_OPERATOR_CERT_ENV: "x" } },
      operator: { extraEnv: { OPERATOR_AGENT_EXTRA_ENV: '{"AGENT_OPERATOR_CERT_ENV":"x"}' } }
    },
    sentences: [
      'agent.extraEnv.AGENT_OPERATOR_CERT_ENV: the operator makes this certificate itself (found "x"); leave it out, ' +
        "and set agent.tls.",
      "operator.extraEnv.OPERATOR_AGENT_EXTRA_ENV: the operator makes AGENT_OPERATOR_CERT_ENV itself (found " +
        '"{\\"AGENT_OPERATOR_CERT_ENV\\":\\"x\\"}"); leave it out, and set agent.tls.'
    ]
  },
  {
    name: "an agents' port that is a word",
    values: { agent: { port: "http" } },
    sentences: [`agent.port: it must be a port from 1 to 65535 (found "http"); write for example 443, or leave it out.`]
  },
  {
    name: "a bound that bounds nothing",
    values: { bounds: { connections: 1e6 }, operator: { extraEnv: { OPERATOR_REQUESTS_PER_USER: "many" } } },
    sentences: [
      "bounds.connections: it must be a whole number from 1 to 10000 (found 1000000); write for example 100, or " +
        "leave it out.",
      'operator.extraEnv.OPERATOR_REQUESTS_PER_USER: it must be a whole number from 1 to 10000 (found "many"); write ' +
        "for example 100, or leave it out."
    ]
  },
  {
    name: "values of a wrong kind",
    values: {
      openshift: "yes",
      extraObjects: { kind: "ConfigMap" },
      namespace: "My_Namespace",
      roleNamespaces: ["default", "a b"],
      sa: { name: "-operator" },
      tls: { useExistingSecret: 1 },
      operator: {
        replicas: "two",
        imagePullPolicy: "Sometimes",
        imageTag: ["1"],
        nodeSelector: ["a"],
        terminationGracePeriodSeconds: -1,
        podDisruptionBudget: { maxUnavailable: "half" },
        requests: { cpu: "lots" },
        tolerations: { key: "a" }
      },
      agent: { priorityClass: { value: 2_000_000_000, preemptionPolicy: "Always" } }
    },
    sentences: [
      "agent.priorityClass.preemptionPolicy: it must be one of PreemptLowerPriority, Never " +
        '(found "Always"); write one of them.',
      "agent.priorityClass.value: it must be a whole number from -2147483648 to 1000000000 (found 2000000000); write " +
        "for example 1000, or leave it out.",
      'extraObjects: it must be a list (found {"kind":"ConfigMap"}); write it as a list.',
      'namespace: it must be the name of a namespace (found "My_Namespace"); write its name, or leave it out for ' +
        "mirrord.",
      'openshift: it must be true or false (found "yes"); write true or false.',
      'operator.imagePullPolicy: it must be one of Always, IfNotPresent, Never (found "Sometimes"); write one of them.',
      'operator.imageTag: it must be text (found ["1"]); write it in quotes.',
      'operator.nodeSelector: it must hold a map (found ["a"]); write keys below it.',
      "operator.podDisruptionBudget.maxUnavailable: it must be a whole number or a percentage " +
        '(found "half"); write for example 1 or 50%.',
      'operator.replicas: it must be a whole number from 0 to 2147483647 (found "two"); write for example 1, or ' +
        "leave it out.",
      'operator.requests.cpu: it must be a quantity (found "lots"); write for example 100m or 512Mi.',
      "operator.terminationGracePeriodSeconds: it must be a whole number from 0 to 2147483647 (found -1); write for " +
        "example 1, or leave it out.",
      'operator.tolerations: it must be a list (found {"key":"a"}); write it as a list.',
      'sa.name: it can be no name of an object (found "-operator"); write small letters, digits and hyphens.',
      "tls.useExistingSecret: it must be true or false (found 1); write true or false.",
      'roleNamespaces: this cannot be the name of a namespace (found "a b"); write names such as kube-system.'
    ]
  },
  {
    name: "a switch that the operator cannot read",
    values: { operator: { requireFrontProxyClientCert: "never" } },
    sentences: [
      `operator.requireFrontProxyClientCert: requireFrontProxyClientCert must be true or false (found "never"); ` +
        "write true or false."
    ]
  },
  {
    name: "an own address without a port",
    values: { operator: { extraEnv: { OPERATOR_ADDR: "0.0.0.0" } } },
    sentences: [
      `operator.extraEnv.OPERATOR_ADDR: it must be an address and a port (found "0.0.0.0"); write for example ` +
        "[::]:443 or 0.0.0.0:443."
    ]
  },
  {
    name: "an own fallback address without an address",
    values: { operator: { extraEnv: { OPERATOR_FALLBACK_ADDR: 443 } } },
    sentences: [
      "operator.extraEnv.OPERATOR_FALLBACK_ADDR: it must be an address and a port (found 443); write for example " +
        "[::]:443 or 0.0.0.0:443."
    ]
  },
  {
    name: "an own address with a port out of range",
    values: { operator: { extraEnv: { OPERATOR_ADDR: "[::]:99999" } } },
    sentences: [
      `operator.extraEnv.OPERATOR_ADDR: it must be an address and a port (found "[::]:99999"); write for example ` +
        "[::]:443 or 0.0.0.0:443."
    ]
  },
  {
    name: "a lease that ends before its holder would give it up",
    values: { operator: { extraEnv: { OPERATOR_LEASE_DURATION_SECS: 5 } } },
    sentences: [leaseTimes("the lease duration is 5 s; it must be longer than the renew deadline of 10 s")]
  },
  {
    name: "a renew deadline beyond the lease",
    values: {
      operator: { extraEnv: { OPERATOR_LEASE_RENEW_DEADLINE_SECS: "30", OPERATOR_LEASE_DURATION_SECS: "30" } }
    },
    sentences: [leaseTimes("the lease duration is 30 s; it must be longer than the renew deadline of 30 s")]
  },
  {
    name: "attempts that are too rare",
    values: { operator: { extraEnv: { OPERATOR_LEASE_RETRY_PERIOD_SECS: "9" } } },
    sentences: [leaseTimes("the renew deadline is 10 s; it must be more than 1.2 times the retry period of 9 s")]
  },
  {
    name: "a lease time with a unit",
    values: {
      operator: { extraEnv: { OPERATOR_LEASE_DURATION_SECS: "60s", OPERATOR_LEASE_RENEW_DEADLINE_SECS: 86401 } }
    },
    sentences: [
      "operator.extraEnv.OPERATOR_LEASE_DURATION_SECS: it must be a whole number of seconds from 1 to 86400 " +
        `(found "60s"); leave it out for 15.`,
      "operator.extraEnv.OPERATOR_LEASE_RENEW_DEADLINE_SECS: it must be a whole number of seconds from 1 to " +
        "86400 (found 86401); leave it out for 10."
    ]
  },
  {
    name: "kubeconfigs in files without a Secret",
    values: primary({ providers: ["kubeconfigFile", "kubeconfigDirectory"], kubeconfigDirectorySecret: "a_b" }),
    sentences: [
      `${where}.kubeconfigDirectorySecret: it must be the name of a Secret (found "a_b"); write its name.`,
      `${where}.kubeconfigFileSecret: provider kubeconfigFile needs a Secret (found nothing); write its name.`
    ]
  },
  {
    name: "metrics on the port of the API",
    values: { operator: { metrics: true, port: 9000 } },
    sentences: [
      "operator: OPERATOR_METRICS_ADDR and OPERATOR_ADDR have the same port, 9000; give metrics another port."
    ]
  },
  {
    name: "addresses of its own that share a port",
    values: {
      operator: {
        extraEnv: {
          OPERATOR_METRICS_ENABLED: "true",
          OPERATOR_METRICS_ADDR: "[::]:7000",
          OPERATOR_ADDR: "0.0.0.0:7000"
        }
      }
    },
    sentences: [
      "operator: OPERATOR_METRICS_ADDR and OPERATOR_ADDR have the same port, 7000; give metrics another port."
    ]
  },
  {
    name: "a serving certificate without its key",
    values: { operator: { extraEnv: { OPERATOR_TLS_CERT_PATH: "/tls/tls.crt" } } },
    sentences: [
      "operator.extraEnv: OPERATOR_TLS_CERT_PATH is set, but OPERATOR_TLS_KEY_PATH is not; set both, or neither for " +
        "a certificate that is made at each start."
    ]
  },
  {
    name: "a pod without its UID",
    values: { operator: { extraEnv: { OPERATOR_POD_UID: "" } } },
    sentences: [
      "operator.extraEnv: OPERATOR_POD_NAME is set, but OPERATOR_POD_UID is not; set both, or neither for an " +
        "operator that elects no leader."
    ]
  },
  {
    name: "a file of the chart that is not there",
    values: { operator: { extraEnv: { MIRRORD_MULTICLUSTER_CONFIG: "/mirrord-config/multicluster-config.yaml" } } },
    sentences: [
      "operator.extraEnv.MIRRORD_MULTICLUSTER_CONFIG: the chart makes no such file (found " +
        `"/mirrord-config/multicluster-config.yaml"); leave it out, set operator.multiCluster, or name a file of ` +
        "your own volume."
    ]
  },
  {
    name: "a variable that is a list",
    values: { operator: { extraEnv: { HOSTS: ["a", "b"] } } },
    sentences: [
      `operator.extraEnv.HOSTS: a variable must be text, or a map with valueFrom (found ["a","b"]); write the ` +
        "text in quotes."
    ]
  },
  {
    name: "a list where a map belongs",
    values: { operator: { extraEnv: [{ name: "A", value: "b" }] } },
    sentences: [`operator.extraEnv: it must hold a map (found [{"name":"A","value":"b"}]); write keys below it.`]
  },
  {
    name: "many mistakes, told at once",
    values: primary({
      clusterName: "hub",
      defaultCluster: "hub",
      sessionTtlSecs: "soon",
      clusters: { a: { isDefault: true }, b: { server, authType: "x", isDefault: true } }
    }),
    sentences: [
      `${where}.sessionTtlSecs: sessionTtlSecs must be a whole number of seconds above 0 (found "soon"); write ` +
        "for example 60.",
      `${where}.clusters.a.authType: a does not say how to authenticate (found nothing); ${authTypes}`,
      `${where}.clusters.a.server: a has no server (found nothing); ${serverCure}`,
      `${where}.clusters.b.authType: this authType does not exist (found "x"); ${authTypes}`,
      `${where}.clusters.b.isDefault: b is marked as default although a is already (found true); leave isDefault ` +
        "at one cluster only.",
      `${where}.clusters.a.isDefault: a is marked as default but defaultCluster is hub (found true); make the ` +
        "two agree, or leave isDefault out.",
      `${where}.defaultCluster: a management-only cluster has no workloads and cannot be its own default (found ` +
        `"hub"); name another cluster, or set managementOnly to false.`
    ]
  },
  {
    name: "bounds that are none",
    values: { bounds: { branches: 0, sessionsPerUser: 0.5, sessions: "many", agents: 10_001 } },
    sentences: [
      `bounds.agents: ${noBound} (found 10001); ${boundCure}`,
      `bounds.branches: ${noBound} (found 0); ${boundCure}`,
      `bounds.sessions: ${noBound} (found "many"); ${boundCure}`,
      `bounds.sessionsPerUser: ${noBound} (found 0.5); ${boundCure}`
    ]
  },
  {
    name: "a longest time of sessions that is none",
    values: { operator: { maxSessionTimeSeconds: "8h", extraEnv: { OPERATOR_MAX_SESSION_TIME_SECONDS: "0" } } },
    sentences: [
      `operator.maxSessionTimeSeconds: ${noSessionTime} (found "8h"); ${sessionTimeCure}`,
      `operator.extraEnv.OPERATOR_MAX_SESSION_TIME_SECONDS: ${noSessionTime} (found "0"); ${sessionTimeCure}`
    ]
  },
  {
    name: "a time without pods that is none",
    values: {
      operator: {
        noPodTargetsSessionTimeoutMillis: "1m",
        extraEnv: { OPERATOR_NO_POD_TARGETS_SESSION_TIMEOUT_MILLIS: "0" }
      }
    },
    sentences: [
      `operator.noPodTargetsSessionTimeoutMillis: ${noPodlessTime} (found "1m"); ${podlessTimeCure}`,
      `operator.extraEnv.OPERATOR_NO_POD_TARGETS_SESSION_TIMEOUT_MILLIS: ${noPodlessTime} (found "0"); ` +
        podlessTimeCure
    ]
  },
  {
    name: "allowed namespaces that are none",
    values: { targets: { allowedNamespaces: ["kube-system", "Kube System"] } },
    sentences: [
      'targets.allowedNamespaces: this cannot be the name of a namespace (found "Kube System"); write names such as ' +
        "kube-system."
    ]
  },
  {
    name: "allowed namespaces that are no list",
    values: { targets: { allowedNamespaces: "kube-system" } },
    sentences: [
      'targets.allowedNamespaces: it must be a list of names (found "kube-system"); write for example [kube-system].'
    ]
  }
]
