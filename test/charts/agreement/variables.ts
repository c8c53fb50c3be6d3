/** Texts that people may write for each variable of the operator, by the form of its setting. */

import fc from "fast-check"
import { settingCards } from "../../../src/app/kernel/setting-values.ts"
import type { Setting } from "../../../src/domain/catalogue/setting.ts"
import { clusterProviders } from "../../../src/domain/fleet/provided-clusters.ts"
import { mostly } from "./mostly.ts"

const truths = mostly(
  fc.constantFrom("true", "no", "on", "0", true, false, 1),
  fc.constantFrom("True", "maybe", " yes", 2, -1)
)
const addresses = mostly(
  fc.constantFrom("[::]:443", "0.0.0.0:8443", "localhost:0", "[2001:DB8::1]:00443", "a b:65535"),
  fc.constantFrom(
    "somewhere",
    "[::]:65536",
    "0.0.0.0:99999",
    ":443",
    "[::]",
    "[::]:",
    "::1:443",
    "0.0.0.0:443\n",
    443,
    true
  )
)
const ports = mostly(
  fc.constantFrom(1, 8443, "61337", 65535),
  fc.constantFrom(65536, "1e3", "01", "many", -1, 1.5, true, " 443")
)
const leaseTime = (...usual: ReadonlyArray<number | string>) =>
  mostly(
    fc.constantFrom(...usual),
    fc.oneof(
      fc.integer({ min: -1, max: 20 }),
      fc.constantFrom(86400, 86401, "1.5", 0.5, "15s", "NaN", "1e1", "+5", "010", true)
    )
  )
export const bounds = mostly(
  fc.constantFrom(1, "64", 10_000),
  fc.constantFrom(10_001, "1e3", "01", "many", -1, 1.5, true, 0)
)
const objectNames = mostly(
  fc.constantFrom("agent", "a.b-c", "5", "x".repeat(253)),
  fc.constantFrom("Agent", "a b", "-a", "a-", "a,b", "../a", "x".repeat(254))
)
export const sessionTimes = mostly(
  fc.constantFrom(1, "28800", 315_360_000),
  fc.constantFrom(315_360_001, 0.5, -1, "8h", "08", true, "9999999999")
)
const namespaceNames = mostly(
  fc.constantFrom("kube-system", "a,b", "x".repeat(63)),
  fc.constantFrom("a, b", ",a", "Kube", "a.b", "-a", "x".repeat(64), 1.5)
)
const words = fc.constantFrom("x", "a b", 5, true)
const collectors = mostly(
  fc.constantFrom("http://collector:4318", "https://[::1]/v1/traces?a=b", "HTTP://a.b:65535/", "http://127.0.0.1"),
  fc.constantFrom(
    "collector:4318",
    "http://user:word@collector",
    "http://a:65536",
    "grpc://a",
    "http://",
    "http://a/ b",
    5
  )
)
const namespace = mostly(fc.constantFrom("clusters", "a-1"), fc.constantFrom("a.b", "a,b", "-", true))
const cellAddresses = mostly(
  fc.constantFrom("cell.example.com:8443", "[fd00::1]:1", "wss://cell.example.com/tunnels", "ws://127.0.0.1:65535"),
  fc.constantFrom(
    "cell.example.com",
    "cell.example.com:65536",
    "https://cell.example.com",
    "wss://a:65536",
    "wss://",
    true
  )
)
/** The texts that people may write for a variable, good and bad, by the form of its setting. */
const texts: Readonly<Record<Setting["form"], fc.Arbitrary<unknown>>> = {
  truth: truths,
  address: addresses,
  cellAddress: cellAddresses,
  port: ports,
  bound: bounds,
  certificateHours: mostly(fc.constantFrom(1, "24", 72), fc.constantFrom(73, "1e1", "01", "many", -1, 1.5, true, 0)),
  ranges: mostly(
    fc.constantFrom("10.0.0.0/8", "192.168.7.255/32,fd00::/8", "::/0", "2001:db8:1:2:3:4:5:6/128", "1:2::3/64"),
    fc.constantFrom(
      "10.0.0.0",
      "10.0.0.256/8",
      "10.0.0.0/33",
      "fd00::/129",
      "1::2::3/8",
      "a, b",
      ",",
      "01.0.0.0/8",
      true
    )
  ),
  groups: mostly(
    fc.constantFrom("dev", "dev,ops of a", "oidc:a/b,Ärzte"),
    fc.constantFrom("dev, ops", ",", "a,", " a", "a\nb", true, "x".repeat(254))
  ),
  hostName: mostly(
    fc.constantFrom("mirrord.example.com", "a", "a-1.b"),
    fc.constantFrom("Mirrord.example.com", "a:443", "https://a", "a..b", true)
  ),
  issuer: mostly(
    fc.constantFrom("https://login.example.com", "https://a:8443/realms/b", "https://a/"),
    fc.constantFrom("http://login.example.com", "login.example.com", "https://a?b", "https://a/#b", "https://", true)
  ),
  scopes: mostly(
    fc.constantFrom("openid", "openid,email,groups", "openid,https://a/b"),
    fc.constantFrom("openid email", "a,", ",", "Ä", true)
  ),
  emails: mostly(
    fc.constantFrom("jane@example.com", "a@b,c@d"),
    fc.constantFrom("jane", "@b", "a@", "a@b, c@d", "a@b@c", true)
  ),
  userPrefix: mostly(fc.constantFrom("primary:", "-", "a.b/", "oidc#"), fc.constantFrom("primary", ":", "a b:", true)),
  extraKeys: mostly(
    fc.constantFrom("scopes", "example.com/team,a"),
    fc.constantFrom("Team", "a, b", ",", "a/", "a%2f", true)
  ),
  leaseTime: leaseTime(1, 2, 10, 12, 15, "20", "60"),
  seconds: sessionTimes,
  millis: sessionTimes,
  days: mostly(fc.constantFrom(1, "365", 36_500), fc.constantFrom(36_501, 0, -1, "1.5", "many", true)),
  mebibytes: mostly(fc.constantFrom(1, "900", 1_000_000), fc.constantFrom(1_000_001, 0, "1e3", "1Gi", true)),
  objectName: objectNames,
  objectNames: mostly(
    fc.constantFrom("registry", "registry,mirror.example", "a,b,c"),
    fc.constantFrom("registry, mirror", ",", "a,", "A", "a..b", true, "x".repeat(254))
  ),
  namespace,
  namespaces: namespaceNames,
  words: mostly(
    fc.subarray([...clusterProviders], { minLength: 1, maxLength: 2 }).map((names) => names.join(",")),
    fc.constantFrom("kubeconfigs", "kubeconfigSecrets, clusterApi", ",", true)
  ),
  variables: mostly(
    fc.constantFrom("{}", '{"A":"b"}', ' {"A":1,"B":true,"C":null}', '{"Error":"x"}'),
    fc.constantFrom(
      "[]",
      "A=b",
      '{"A":{}}',
      '{"A":["b"]}',
      '{"A=b":"c"}',
      '{"":"c"}',
      "{",
      "null",
      5,
      '{"AGENT_OPERATOR_CERT_ENV":"x"}'
    )
  ),
  collector: collectors,
  text: words,
  path: words,
  secret: fc.constantFrom("a=b", "a=b,c=d")
}
/**
 * Variables that helm does not judge, or of which it knows one text alone: only paths of the chart's files, since helm
 * does not see others; the operator alone judges those of traces.
 */
const goodTexts: Readonly<Record<string, fc.Arbitrary<unknown>>> = {
  OTEL_EXPORTER_OTLP_PROTOCOL: fc.constantFrom("http/json", "http/protobuf"),
  OTEL_EXPORTER_OTLP_TRACES_PROTOCOL: fc.constantFrom("http/json"),
  OTEL_RESOURCE_ATTRIBUTES: fc.constantFrom("a=b"),
  OTEL_TRACES_SAMPLER: fc.constantFrom("always_on", "traceidratio"),
  OTEL_TRACES_SAMPLER_ARG: fc.constantFrom("0.5", 1),
  OPERATOR_AGENT_CONFIG: fc.constantFrom("/mirrord-config/agent-config.yaml"),
  OPERATOR_ACCESS_PROVIDERS: fc.constantFrom("/mirrord-config/access-providers.yaml"),
  MIRRORD_MULTICLUSTER_CONFIG: fc.constantFrom("/mirrord-config/multicluster-config.yaml"),
  MIRRORD_CLUSTERS_CONFIG: fc.constantFrom("/mirrord-config/clusters-config.yaml", "")
}
/** Each variable that a card names, with the texts that people may write for it. */
export const variables: Readonly<Record<string, fc.Arbitrary<unknown>>> = Object.fromEntries(
  Object.values(settingCards)
    .flatMap((card) => Object.values(card))
    // The limits of volumes are taken as they are: what is wrong in them fails the branches alone.
    .filter(({ variable }) => !variable.endsWith("_VOLUME_SIZE_LIMIT"))
    .map(({ form, variable }) => [variable, goodTexts[variable] ?? texts[form]])
)
