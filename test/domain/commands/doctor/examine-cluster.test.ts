import fc from "fast-check"
import { describe, expect, it } from "vitest"
import type {
  Answer,
  ClusterFacts,
  ConnectionFacts,
  CredentialFacts
} from "../../../../src/domain/commands/doctor/cluster-facts.ts"
import { examineCluster } from "../../../../src/domain/commands/doctor/examine-cluster.ts"
import { checks, type Check, type Finding, verdictOf } from "../../../../src/domain/commands/doctor/finding.ts"
import { answered, day, now, refused, wellMember, wellPrimary } from "./facts.ts"

const of = (facts: ClusterFacts, check: Check): ReadonlyArray<Finding> =>
  examineCluster(facts).filter((finding) => finding.check === check)
const told = (facts: ClusterFacts, check: Check): ReadonlyArray<string> =>
  of(facts, check).map(({ fix, message, status }) => [status, message, ...(fix === undefined ? [] : [fix])].join(" | "))
const connected = (change: Partial<Extract<ConnectionFacts, { readonly _tag: "Connected" }>>): ClusterFacts =>
  wellMember.connection._tag === "Connected"
    ? { ...wellMember, connection: { ...wellMember.connection, ...change } }
    : wellMember
const certificate = (from: number, until: number) => ({
  subject: "CN=kube-apiserver",
  issuer: "CN=kubernetes",
  validity: { from, until }
})
const token = (from: number, until: number, renewed = false): CredentialFacts => ({
  _tag: "Token",
  from: "Secret s",
  claims: { subject: undefined, validity: { from, until } },
  renewed
})

const eks = { _tag: "Eks", region: "eu-west-1" } as const

describe("a cluster that is well", () => {
  it.each([
    ["a member", wellMember],
    ["the primary", wellPrimary]
  ])("%s has nothing but good findings", (_, facts) => {
    expect(examineCluster(facts).filter(({ status }) => status !== "ok")).toEqual([])
    expect(new Set(examineCluster(facts).map(({ check }) => check))).toEqual(
      new Set(checks.filter((check) => check !== "configuration"))
    )
  })
})

describe("what is wrong is told with what to do", () => {
  it.each([
    ["ENOTFOUND", "Check the host name"],
    ["ECONNREFUSED", "Nothing listens at https://a.example.com:6443"],
    ["ECONNRESET", "does not speak TLS"],
    ["ETIMEDOUT", "Check firewalls, routes and network policies"],
    ["", "Check firewalls"]
  ])("an address that does not answer: %s", (code, fix) => {
    const facts = { ...wellMember, connection: { _tag: "Failed", code, detail: "connect refused" } as const }
    expect(of(facts, "reach")).toEqual([
      {
        check: "reach",
        status: "failed",
        message: "https://a.example.com:6443 cannot be reached: connect refused.",
        fix: expect.stringContaining(fix)
      }
    ])
    expect(of(facts, "certificate").map(({ status }) => status)).toEqual(["skipped"])
  })

  it("the setting in which the address of a member stands, by the member's name", () => {
    const unknown = { _tag: "Failed", code: "ENOTFOUND", detail: "getaddrinfo ENOTFOUND" } as const
    expect(told({ ...wellMember, connection: unknown }, "reach")[0]).toContain(
      "Check the host name in operator.multiCluster.clusters.cluster-a.server,"
    )
    expect(told({ ...wellPrimary, connection: unknown }, "reach")[0]).toContain(
      "Check the host name in the kubeconfig,"
    )
  })

  it("a CA whose file cannot be read", () => {
    expect(
      told(
        {
          ...wellPrimary,
          connection: { _tag: "NoAuthority", detail: "ENOENT: no such file or directory, open '/ca.crt'" }
        },
        "certificate"
      )
    ).toEqual([
      "failed | The CA of the API server cannot be read: ENOENT: no such file or directory, open '/ca.crt'. | " +
        "Correct certificate-authority of the kubeconfig, or set certificate-authority-data instead."
    ])
  })

  it("a server that is not asked, since the credentials cannot be had", () => {
    const facts = {
      ...wellPrimary,
      credentials: { _tag: "Unusable", problem: "No.", fix: "Yes." },
      version: { _tag: "NotAsked" }
    } as const
    expect(told(facts, "reach")).toEqual(["ok | https://a.example.com:6443 accepts connections."])
  })

  it("a server that connects and is silent", () => {
    expect(told({ ...wellMember, version: { _tag: "NoAnswer", detail: "Headers Timeout Error" } }, "reach")).toEqual([
      "failed | https://a.example.com:6443 does not answer requests: Headers Timeout Error. | Look at the API " +
        "server, and at proxies and load balancers in front of it."
    ])
  })

  it("another CA than the configured one, and none", () => {
    expect(told(connected({ distrust: "UNABLE_TO_VERIFY_LEAF_SIGNATURE" }), "certificate")[0]).toMatch(
      /^failed \| The API server's certificate \(issued by CN=kubernetes\) is not signed by the configured CA \(UNABLE_TO_VERIFY_LEAF_SIGNATURE\)\. \| Set operator\.multiCluster\.clusters\.cluster-a\.caData /u
    )
    expect(
      told(connected({ distrust: "SELF_SIGNED_CERT_IN_CHAIN", hasOwnAuthority: false }), "certificate")[0]
    ).toContain("a public CA, and no CA is configured")
  })

  it("a certificate for another host", () => {
    expect(told(connected({ distrust: "ERR_TLS_CERT_ALTNAME_INVALID" }), "certificate")[0]).toContain(
      "is not made out to the host in https://a.example.com:6443"
    )
  })

  it("a certificate that ended, ends soon, or has not begun", () => {
    expect(
      told(connected({ certificate: certificate(0, now - 1), distrust: "CERT_HAS_EXPIRED" }), "certificate")[0]
    ).toBe(
      "failed | The API server's certificate (CN=kube-apiserver) was valid until 2026-11-21 23:59 UTC only. | " +
        "Renew the serving certificate of that API server (kubeadm certs renew apiserver, or your provider's way)."
    )
    expect(told(connected({ certificate: certificate(0, now + 3 * day) }), "certificate")[0]).toContain(
      "warning | The API server's certificate is trusted and ends in 3d, 2026-11-25 00:00 UTC."
    )
    expect(told(connected({ certificate: certificate(now + day, now + 9 * day) }), "certificate")[0]).toContain(
      "failed | The API server's certificate (CN=kube-apiserver) is not valid before 2026-11-23"
    )
  })

  it("a CA that has ended, whose certificates have not", () => {
    expect(told(connected({ distrust: "CERT_HAS_EXPIRED" }), "certificate")[0]).toMatch(
      /^failed \| A CA certificate above the API server's own \(issued by CN=kubernetes\) has ended \(CERT_HAS_EXPIRED\)\. \| Renew that CA, .* operator\.multiCluster\.clusters\.cluster-a\.caData /u
    )
  })

  it("a certificate that nobody checks", () => {
    expect(
      told(
        connected({ unchecked: true, certificate: certificate(0, now - 1), distrust: "CERT_HAS_EXPIRED" }),
        "certificate"
      )[0]
    ).toContain("warning | Nobody checks")
    expect(told(connected({ unchecked: true, distrust: "SELF_SIGNED_CERT_IN_CHAIN" }), "certificate")[0]).toContain(
      "warning | Nobody checks the API server's certificate"
    )
  })

  it("credentials of every kind, by how long they last", () => {
    const credentials = (facts: CredentialFacts, part: "own" | "member" = "member") =>
      told({ ...wellMember, part, credentials: facts }, "credentials")[0]
    expect(credentials(token(now - day, now - 3_600_000))).toBe(
      "failed | Bearer token of Secret s; it expired 1h ago, 2026-11-21 23:00 UTC. | braid join cluster-a --apply " +
        "--wait, with contexts for both clusters, makes new ones, and says so if their account was deleted. By hand, " +
        "on cluster-a: kubectl -n mirrord create token mirrord-operator-envoy --duration=24h; put it as bearerToken " +
        "into the Secret of this cluster, beside the primary's operator."
    )
    expect(credentials(token(now - day, now + 3_600_000))).toMatch(
      /^warning \| Bearer token of Secret s; it expires in 1h, /u
    )
    expect(credentials(token(now - day, now + 3_600_000, true))).toBe(
      "ok | Bearer token of Secret s; the kubelet renews it."
    )
    expect(credentials(token(now + day, now + 2 * day))).toMatch(/^failed \| .* not valid before/u)
    expect(credentials({ _tag: "Token", from: "Secret s", claims: undefined, renewed: false })).toContain(
      "ok | Bearer token of Secret s; it is no JWT"
    )
    expect(credentials({ _tag: "Certificate", from: "Secret s", validity: { from: 0, until: now + day } })).toMatch(
      /^warning \| Client certificate of Secret s; it expires in 1d, .*tls\.crt and tls\.key/u
    )
    expect(credentials({ _tag: "Certificate", from: "Secret s", validity: { from: 0, until: now - day } })).toMatch(
      /^failed \| Client certificate of Secret s; it expired 1d ago/u
    )
    expect(credentials({ _tag: "Unusable", problem: "Its Secret is missing.", fix: "Create it." })).toBe(
      "failed | Its Secret is missing. | Create it."
    )
    expect(credentials({ _tag: "Other", from: "user ann" }, "own")).toContain("ok | Credentials of user ann")
  })

  it("tokens for an EKS cluster: made here, or as the operator tells of them", () => {
    const credentials = (facts: CredentialFacts) => told({ ...wellMember, credentials: facts }, "credentials")[0]
    expect(credentials({ _tag: "Cloud", auth: eks })).toMatch(
      /^ok \| A token for region eu-west-1 by the operator.s AWS identity; /u
    )
    const elsewhere = { _tag: "CloudOfOperator", auth: eks, identity: "arn:aws:iam::1:role/x" } as const
    expect(credentials({ ...elsewhere, report: { _tag: "Connected" } })).toBe(
      "ok | The operator makes tokens for region eu-west-1 with arn:aws:iam::1:role/x, and the cluster accepts them."
    )
    expect(credentials({ ...elsewhere, identity: "", report: { _tag: "Lost", why: "no identity; mend it." } })).toBe(
      "failed | The operator makes tokens for region eu-west-1 with its AWS identity and says: no identity; mend it. " +
        "| Its service account names no AWS role: give one in sa.roleArn, unless a Pod Identity does. Run it as the " +
        "operator, which makes a token: helm test."
    )
    expect(credentials({ ...elsewhere, identity: undefined, report: undefined })).toMatch(
      /^warning \| .* its AWS identity; whether .* it does not say\. \| Run it as the operator/u
    )
    const refusedToken = { ...wellMember, credentials: { _tag: "Cloud", auth: eks } as const, user: refused(401) }
    expect(told(refusedToken, "authentication")[0]).toMatch(/ \| Make an access entry .* cluster-a; eu-west-1 must be/u)
  })

  it("tokens for an AKS cluster: made here, or as the operator tells of them", () => {
    const aks = { _tag: "Aks", tenantId: "contoso.com", clientId: undefined } as const
    const credentials = (facts: CredentialFacts) => told({ ...wellMember, credentials: facts }, "credentials")[0]
    expect(credentials({ _tag: "Cloud", auth: aks })).toBe(
      "ok | A token of tenant contoso.com by the operator's Azure identity; the operator makes one before its end."
    )
    const elsewhere = { _tag: "CloudOfOperator", auth: { ...aks, tenantId: undefined }, report: undefined } as const
    expect(credentials({ ...elsewhere, identity: "" })).toMatch(
      /^warning \| The operator makes tokens with its Azure identity; .*names no client of Azure: .* sa\.azureClientId/u
    )
    const refusedToken = { ...wellMember, credentials: { _tag: "Cloud", auth: aks } as const, user: refused(401) }
    expect(told(refusedToken, "authentication")[0]).toMatch(/ \| Turn on the Microsoft Entra integration/u)
  })

  it("credentials that a plugin gives: here, or as the operator tells of them", () => {
    const auth = { _tag: "ExecPlugin", provider: "google", config: undefined } as const
    const credentials = (facts: CredentialFacts) => told({ ...wellMember, credentials: facts }, "credentials")[0]
    expect(credentials({ _tag: "Cloud", auth })).toBe(
      "ok | Credentials by the plugin of access provider google; the operator asks for others before they end."
    )
    const elsewhere = { _tag: "CloudOfOperator", auth, identity: undefined } as const
    expect(credentials({ ...elsewhere, report: { _tag: "Lost", why: "it is not executable; mount it." } })).toBe(
      "failed | The operator asks the plugin of access provider google for credentials and says: it is not " +
        "executable; mount it. | Run it as the operator, which makes them: helm test."
    )
    const refusedToken = { ...wellMember, credentials: { _tag: "Cloud", auth } as const, user: refused(401) }
    expect(told(refusedToken, "authentication")[0]).toMatch(/ \| Look whether the plugin .* for cluster-a\.$/u)
  })

  it("credentials that the API server refuses", () => {
    expect(told({ ...wellMember, user: refused(401) }, "authentication")[0]).toMatch(
      /^failed \| The API server refuses the credentials \(401 Unauthorized\)\. \| braid join cluster-a --apply --wait, .* on cluster-a: kubectl/u
    )
    expect(told({ ...wellPrimary, user: refused(401) }, "authentication")[0]).toMatch(
      /^failed \| .*restart the pod\.$/u
    )
    expect(told({ ...wellMember, user: refused(404) }, "authentication")[0]).toContain("selfsubjectreviews")
  })

  it("clocks that differ, from 5 s and from a minute", () => {
    const clock = (server: number) => told({ ...wellMember, clock: { server, before: now, after: now } }, "clock")[0]
    expect(clock(now + 4_999)).toBe("ok | The clocks agree.")
    expect(clock(now + 5_000)).toMatch(/^warning \| The API server's clock is 5s ahead of ours\. \| Synchronise/u)
    expect(clock(now - 61_000)).toMatch(
      /^failed \| The API server's clock is 1m behind ours; sessions end too early or too late\./u
    )
  })

  it("each resource with its missing verbs, once, with what is impossible without", () => {
    const without = (verbs: ReadonlyArray<string>, facts = wellMember) => ({
      ...facts,
      rights: facts.rights.map((fact) =>
        fact.right.resource === "mirrordclustersessions" && verbs.includes(fact.verb)
          ? { ...fact, allowed: false }
          : fact
      )
    })
    expect(told(without(["watch", "delete"]), "permissions")).toEqual([
      "failed | system:serviceaccount:mirrord:mirrord-operator-envoy may not watch, delete " +
        "mirrordclustersessions.mirrord.metalbear.co in the whole cluster: without it no session is made in this " +
        "cluster. | On cluster-a: upgrade the chart with operator.multiClusterMember: true, and use a token of its " +
        "ServiceAccount mirrord-operator-envoy."
    ])
    expect(
      told({ ...without(["list"], wellPrimary), rightsOf: "system:serviceaccount:mirrord:other" }, "permissions")[0]
    ).toMatch(/^failed \| system:serviceaccount:mirrord:other may not list .*operator\.multiCluster\.enabled: true/u)
    const byCertificate = {
      ...without(["get"]),
      credentials: { _tag: "Certificate", from: "Secret s", validity: { from: 0, until: now + 365 * day } } as const
    }
    expect(told(byCertificate, "permissions")[0]).toContain("rbac.memberSubjects")
  })

  it("rights that could not be asked for", () => {
    const rights = wellMember.rights.map((fact, index) => (index < 2 ? { ...fact, allowed: undefined } : fact))
    expect(told({ ...wellMember, rights }, "permissions")[0]).toMatch(
      /^failed \| 2 of \d+ rights could not be asked for, such as get mirrordoperators\.operator\.metalbear\.co\./u
    )
  })

  it("custom resources that are missing, or are of another version", () => {
    const kind = (served: Answer<ReadonlyArray<string>>, need: "required" | "usual" = "required") =>
      told(
        {
          ...wellMember,
          kinds: [{ group: "mirrord.metalbear.co", version: "v1alpha", plural: "mirrordclustersessions", need, served }]
        },
        "resources"
      )[0]
    expect(kind(answered([]))).toMatch(
      /^failed \| mirrordclustersessions\.mirrord\.metalbear\.co is not installed: no session can be served\. \| Upgrade the release of the chart on cluster-a/u
    )
    expect(kind(answered(["v1"]))).toContain("is served as v1, not as v1alpha")
    expect(kind(answered([]), "usual")).toMatch(/^warning \| .* is not installed, which the chart always brings/u)
    expect(kind(refused(403))).toMatch(/^failed \| Whether .* could not be found out \(HTTP 403: no\)/u)
    expect(kind(answered(["v1alpha", "v1"]))).toBe(
      "ok | Served: mirrordclustersessions.mirrord.metalbear.co (v1alpha, v1)."
    )
  })

  it("an operator that is missing, away, broken, other or older", () => {
    const operator = (answer: ClusterFacts["operator"], facts = wellMember) =>
      told({ ...facts, operator: answer }, "operator")[0]
    expect(operator(refused(404))).toMatch(
      /^failed \| No operator is registered .* \| Install the chart on cluster-a\.$/u
    )
    expect(operator(refused(503, "service unavailable"))).toMatch(
      /^failed \| The API server does not reach the operator \(HTTP 503: service unavailable\)\. \| On cluster-a, look/u
    )
    expect(operator(refused(500, "starting"))).toContain("kubectl -n mirrord logs -l app=mirrord-operator --prefix")
    expect(operator({ _tag: "NoAnswer", detail: "reset" })).toContain("did not answer")
    expect(operator(answered({ version: "3.250.0", protocolVersion: "1.29.0", features: [] }))).toContain(
      "is not braid"
    )
    expect(operator(answered({ version: "3.250.0+braid.0.0.9", protocolVersion: "1.28.0", features: [] }))).toMatch(
      /^warning \| .* speaks protocol 1\.28\.0 and we speak 1\.29\.0/u
    )
    expect(operator(answered({ version: undefined, protocolVersion: undefined, features: [] }))).toMatch(
      /^ok \| An operator serves/u
    )
    expect(
      operator(answered({ version: "3.250.0+braid.0.1.0", protocolVersion: "1.29.0", features: [] }), wellPrimary)
    ).toContain("not as a primary")
    expect(operator(wellPrimary.operator, wellPrimary)).toBe(
      "ok | Operator 3.250.0+braid.0.1.0 serves as a primary that only manages, protocol 1.29.0."
    )
  })

  it("a changed configuration that the running primary does not use", () => {
    const facts = {
      ...wellPrimary,
      operator: answered({ version: undefined, protocolVersion: undefined, features: [], refusedConfiguration: "No." })
    }
    expect(told(facts, "configuration")[0]).toMatch(
      /^failed \| The operator does not use its changed configuration, .*: No\. \| Correct .* rollout restart/u
    )
    expect(told({ ...facts, part: "member" }, "configuration")).toEqual([])
  })

  it("collections that the running operator cannot read", () => {
    const unknown = { version: undefined, protocolVersion: undefined, features: [] }
    const facts = {
      ...wellPrimary,
      operator: answered({ ...unknown, unreadCollections: "The pods cannot be listed." })
    }
    const sentence = /^failed \| The operator runs, and cannot read .* The pods cannot be listed\. \| .*kubectl get/u
    expect(told(facts, "operator").at(-1)).toMatch(sentence)
    expect(told({ ...facts, part: "member" }, "operator").at(-1)).toMatch(/ \| On .*: kubectl get/u)
  })

  it("another cluster under the name of a member, as the running primary found it", () => {
    const unknown = { version: undefined, protocolVersion: undefined, features: [] }
    const facts = { ...wellPrimary, operator: answered({ ...unknown, refusedIdentities: { b: "it is another" } }) }
    expect(told(facts, "configuration")).toEqual([
      expect.stringMatching(/^failed \| The operator does not use cluster b: it is another\. \| Do what/u)
    ])
    expect(told({ ...facts, part: "member" }, "configuration")).toEqual([])
  })

  it("a configuration of this cluster that cannot be used", () => {
    const facts = {
      ...wellMember,
      problems: ["caData: it is no PEM."],
      connection: { _tag: "NotTried", why: "There is no usable address." } as const,
      version: { _tag: "NotAsked" } as const
    }
    expect(told(facts, "configuration")[0]).toMatch(/^failed \| caData: it is no PEM\. \| Correct it/u)
    expect(told(facts, "reach")).toEqual(["skipped | There is no usable address."])
  })
})

const anyAnswer = <T>(value: fc.Arbitrary<T>): fc.Arbitrary<Answer<T>> =>
  fc.oneof(
    value.map(answered),
    fc.record({
      _tag: fc.constant("Refused" as const),
      code: fc.constantFrom(400, 401, 403, 404, 500, 503),
      detail: fc.string()
    }),
    fc.record({ _tag: fc.constant("NoAnswer" as const), detail: fc.string() }),
    fc.constant({ _tag: "NotAsked" } as const)
  )
const anyTime = fc.oneof(fc.constant(undefined), fc.integer({ min: now - 800 * day, max: now + 800 * day }))
const anyValidity = fc.record({ from: anyTime, until: anyTime })
const anyFacts: fc.Arbitrary<ClusterFacts> = fc.record({
  name: fc.constant("a"),
  part: fc.constantFrom("own" as const, "member" as const),
  isDefault: fc.boolean(),
  role: fc.constantFrom(wellMember.role, wellPrimary.role),
  namespace: fc.constant("mirrord"),
  server: fc.constant("https://a.example.com"),
  now: fc.constant(now),
  problems: fc.array(fc.string({ minLength: 1 }), { maxLength: 2 }),
  connection: fc.oneof(
    fc.record({
      _tag: fc.constant("Connected" as const),
      certificate: fc.option(fc.record({ subject: fc.string(), issuer: fc.string(), validity: anyValidity }), {
        nil: undefined
      }),
      distrust: fc.constantFrom(undefined, "ERR_TLS_CERT_ALTNAME_INVALID", "CERT_HAS_EXPIRED"),
      hasOwnAuthority: fc.boolean(),
      unchecked: fc.boolean()
    }),
    fc.record({
      _tag: fc.constant("Failed" as const),
      code: fc.constantFrom("", "ENOTFOUND", "ECONNREFUSED"),
      detail: fc.string()
    }),
    fc.record({ _tag: fc.constant("NotTried" as const), why: fc.constant("No.") })
  ),
  credentials: fc.oneof(
    fc.record({
      _tag: fc.constant("Token" as const),
      from: fc.string(),
      claims: fc.option(fc.record({ subject: fc.constant(undefined), validity: anyValidity }), { nil: undefined }),
      renewed: fc.boolean()
    }),
    fc.record({ _tag: fc.constant("Certificate" as const), from: fc.string(), validity: anyValidity }),
    fc.constant({ _tag: "Unusable", problem: "P.", fix: "F." } as const),
    fc.constant({ _tag: "Cloud", auth: eks } as const),
    fc.constant({ _tag: "CloudOfOperator", auth: eks, identity: "", report: undefined } as const),
    fc.constant({ _tag: "Other", from: "x" } as const)
  ),
  version: anyAnswer(fc.string()),
  clock: fc.option(fc.record({ server: fc.nat(), before: fc.nat(), after: fc.nat() }), { nil: undefined }),
  user: anyAnswer(fc.string()),
  rightsOf: fc.option(fc.string(), { nil: undefined }),
  rights: fc.array(
    fc.record({
      right: fc.constantFrom(...wellPrimary.rights.map(({ right }) => right)),
      verb: fc.constantFrom("get", "list"),
      allowed: fc.constantFrom(true, false, undefined)
    })
  ),
  kinds: fc.array(
    fc.record({
      group: fc.constant("g"),
      version: fc.constant("v1"),
      plural: fc.constant("p"),
      need: fc.constantFrom("required" as const, "usual" as const),
      served: anyAnswer(fc.array(fc.constantFrom("v1", "v2")))
    })
  ),
  operator: anyAnswer(
    fc.record({
      version: fc.option(fc.string(), { nil: undefined }),
      protocolVersion: fc.option(fc.string(), { nil: undefined }),
      features: fc.array(fc.string())
    })
  )
})

describe("whatever was observed", () => {
  it("every check is told of, in order, each problem with a fix and nothing else with one", () => {
    fc.assert(
      fc.property(anyFacts, (facts) => {
        const findings = examineCluster(facts)
        const order = findings.map(({ check }) => checks.indexOf(check))
        expect(order).toEqual(order.toSorted((a, b) => a - b))
        expect(new Set(order).size).toBeGreaterThanOrEqual(checks.length - 1)
        for (const { fix, message, status } of findings) {
          expect(message).not.toBe("")
          expect(fix !== undefined && fix !== "").toBe(status === "failed" || status === "warning")
        }
      })
    )
  })

  it("a right that is missing makes a failure", () => {
    fc.assert(
      fc.property(anyFacts, (facts) => {
        fc.pre(facts.rights.some(({ allowed }) => allowed !== true))
        expect(verdictOf(examineCluster(facts))).toBe("failed")
      })
    )
  })
})
