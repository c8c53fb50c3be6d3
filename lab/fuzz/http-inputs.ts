/**
 * Generators of hostile HTTP: connect requests, requests of every path, and bytes that are no HTTP. They give data with
 * the bytes to send. Sends nothing.
 */

import * as fc from "fast-check"
import { operatorApiRoot } from "../../src/domain/resources/operator-api.ts"
import { parameterNames } from "../../src/domain/sessions/connect-parameter-catalogue.ts"
import type { Ending, Identity } from "./peer.ts"

/** A connection's input: the bytes, how they are sent, and how the connection ends. */
export interface HttpInput {
  readonly at: "primary" | "member"
  readonly identity: Identity
  /** The request as text, a byte for each character (latin1). */
  readonly text: string
  readonly cuts: ReadonlyArray<number>
  readonly pauseMs: number
  readonly ending: Ending
  readonly isHead: boolean
}

const place = fc.constantFrom<HttpInput["at"]>("primary", "member")
const cuts = fc.array(fc.nat(4000), { maxLength: 4 })
const pauseMs = fc.constantFrom(0, 0, 0, 1, 10)
const ending = fc.constantFrom<Ending>("half-close", "half-close", "half-close", "half-close", "cut", "stall")
const identity = fc.constantFrom<Identity>(
  "front proxy",
  "front proxy",
  "front proxy",
  "front proxy",
  "front proxy",
  "front proxy",
  "stranger",
  "nobody"
)

const latin1 = (most: number): fc.Arbitrary<string> =>
  fc.uint8Array({ maxLength: most }).map((bytes) => Buffer.from(bytes).toString("latin1"))
/** Text without what ends a line of headers. */
const headerText = (most: number): fc.Arbitrary<string> =>
  fc.oneof(
    fc.string({ unit: "grapheme-ascii", maxLength: most }),
    latin1(most).map((text) => text.replaceAll(/[\r\n\0]/g, ""))
  )
const many = (least: number, most: number): fc.Arbitrary<string> =>
  fc.integer({ min: least, max: most }).map((length) => "a".repeat(length))

const percent = fc.constantFrom("%", "%ff", "%00", "%2f", "%2e%2e", "%C3%28", "%e2%80%ae", "%0d%0a", "%u0041", "..", "")
const segment = fc.oneof(
  percent,
  fc.string({ unit: "grapheme-ascii", maxLength: 12 }).map((text) => encodeURIComponent(text)),
  latin1(6).map((text) => text.replaceAll(/[\s\0?#]/g, "")),
  many(200, 900)
)
const namespace = fc.oneof(
  { weight: 6, arbitrary: fc.constant("default") },
  { weight: 1, arbitrary: fc.constantFrom("mirrord", "kube-system", "nowhere", "-a", "DEFAULT", "") },
  { weight: 1, arbitrary: segment }
)
const target = fc.oneof(
  { weight: 6, arbitrary: fc.constant("deployment.myapp") },
  {
    weight: 3,
    arbitrary: fc.constantFrom(
      "targetless",
      "label",
      "deployment.nope",
      "deploy.myapp",
      "deployment.myapp.container.nope",
      "deployment.myapp.container.",
      "deployment.",
      "deployment",
      "pod.nope",
      "pod..",
      "service.myapp",
      "service.nope",
      "statefulset.nope",
      "replicaset.nope",
      "rollout.nope",
      "job.nope",
      "cronjob.nope",
      "label.x",
      "__proto__.x",
      "constructor.name"
    )
  },
  { weight: 2, arbitrary: fc.tuple(fc.constantFrom("deployment", "pod", "nope"), segment).map((two) => two.join(".")) },
  { weight: 1, arbitrary: segment }
)
const connectPath = fc.oneof(
  {
    weight: 6,
    arbitrary: fc
      .tuple(fc.constantFrom("/proxy", "/proxy", "/proxy", ""), namespace, target)
      .map(([proxy, where, what]) => `${operatorApiRoot}${proxy}/namespaces/${where}/targets/${what}`)
  },
  {
    weight: 1,
    arbitrary: fc
      .tuple(namespace, target)
      .map(([where, what]) => `${operatorApiRoot}/proxy/namespaces/${where}/copytargets/${what}`)
  },
  { weight: 1, arbitrary: segment.map((one) => `${operatorApiRoot}/${one}`) },
  { weight: 1, arbitrary: segment.map((one) => `/${one}`) }
)

const nested = fc
  .tuple(fc.constantFrom("[", '{"a":', '{"__proto__":'), fc.integer({ min: 1, max: 3000 }))
  .map(([open, times]) => open.repeat(times))
const value = fc.oneof(
  fc.constantFrom("true", "false", "", "{}", "[]", "null", "0", '"x"', "abort", "override", "(", "(a+)+$", "\u0000"),
  fc.constantFrom('{"labels":{"app":"myapp"}}', '{"labels":{}}', '{"labels":{"a b":"c"}}', '{"labels":null}'),
  fc.constantFrom('{"q":{"a":"b"}}', '["a"]', '{"autoQueueSplitting":true}', '{"q":{"descriptor_base64":"?"}}'),
  fc.json({ maxDepth: 3 }),
  fc.string({ unit: "binary", maxLength: 20 }),
  many(4000, 5000),
  nested
)
const parameter = fc
  .tuple(fc.oneof(fc.constantFrom(...parameterNames), fc.constantFrom(...parameterNames), segment), value)
  .chain(([name, text]) =>
    fc.constantFrom(`${name}=${encodeURIComponent(text.toWellFormed())}`, `${name}=${text}`, name, `${name}=%zz`, "&=")
  )
const query = fc.oneof(
  { weight: 8, arbitrary: fc.constant("connect=true&key=fuzz&multi_cluster=false") },
  { weight: 2, arbitrary: fc.constant("connect=true&key=fuzz") },
  { weight: 6, arbitrary: fc.array(parameter, { maxLength: 5 }).map((all) => ["connect=true", ...all].join("&")) },
  { weight: 1, arbitrary: latin1(40) }
)

type Header = readonly [name: string, value: string]
/** Where the real certificate of a user is to stand; the sender puts it in. */
export const certificatePlace = "{certificate}"

const sessionId = fc.oneof(
  { weight: 5, arbitrary: fc.bigInt({ min: 1n, max: 2n ** 32n }).map(String) },
  {
    weight: 1,
    arbitrary: fc.constantFrom(
      "",
      "0",
      "-1",
      "18446744073709551616",
      "1e3",
      "0x10",
      "١",
      "5, 6",
      "1".repeat(500),
      "NaN"
    )
  }
)
const certificate = fc.oneof(
  { weight: 15, arbitrary: fc.constant(certificatePlace) },
  { weight: 1, arbitrary: fc.nat(100).map((length) => `${certificatePlace}${length}`) },
  { weight: 1, arbitrary: fc.base64String({ maxLength: 400 }) },
  { weight: 1, arbitrary: fc.base64String({ minLength: 11_000, maxLength: 12_000 }) },
  { weight: 1, arbitrary: headerText(40) },
  // SEQUENCEs within SEQUENCEs, as a parser of DER may follow them.
  {
    weight: 1,
    arbitrary: fc
      .integer({ min: 1, max: 2000 })
      .map((depth) => Buffer.from("3080".repeat(depth), "hex").toString("base64"))
  }
)
const otherHeader: fc.Arbitrary<Header> = fc.oneof(
  fc.tuple(
    fc.constantFrom("x-client-name", "x-client-hostname", "x-mirrord-cli-version", "x-braid-term", "x-forwarded-for"),
    headerText(300)
  ),
  fc.tuple(
    fc.constant("x-mirrord-connect-params"),
    fc.oneof(query, value).map((text) => Buffer.from(text).toString("base64"))
  ),
  fc.tuple(fc.constant("x-mirrord-connect-params"), headerText(60)),
  fc.tuple(fc.constantFrom("X-Remote-User", "X-Remote-Group", "X-Remote-Extra-a%zz", "X-Remote-Uid"), headerText(30)),
  fc.tuple(fc.constantFrom("Host", "Connection", "Upgrade", "Sec-WebSocket-Extensions", "Expect"), headerText(20)),
  fc.tuple(fc.constantFrom("Upgrade", "Expect", "Content-Length"), fc.constantFrom("h2c", "100-continue", "0", "7")),
  fc.tuple(fc.constant("x-pad"), many(10_000, 200_000)),
  fc.tuple(
    fc.constantFrom("Sec-WebSocket-Key", "Sec-WebSocket-Version", "Sec-WebSocket-Protocol"),
    fc.constantFrom("", "12", "v5.channel.k8s.io", "v4.channel.k8s.io,", ",".repeat(400), "a b, v4.channel.k8s.io")
  )
)

const usual: ReadonlyArray<Header> = [
  ["Host", "operator"],
  ["Connection", "Upgrade"],
  ["Upgrade", "websocket"],
  ["Sec-WebSocket-Version", "13"],
  ["Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ=="],
  ["Sec-WebSocket-Protocol", "v4.channel.k8s.io"],
  ["X-Remote-User", "fuzz"],
  ["X-Remote-Group", "system:masters"]
]

const headerLines = (headers: ReadonlyArray<Header>): string =>
  headers.map(([name, text]) => `${name}: ${text}\r\n`).join("")
const asBytes = (text: string): string => Buffer.from(text, "utf8").toString("latin1")

/** Now and then the name of a header that is missing. */
const leftOut = (headers: ReadonlyArray<Header>): fc.Arbitrary<string | undefined> =>
  fc.oneof({ weight: 9, arbitrary: fc.constant(undefined) }, fc.constantFrom(...headers.map(([name]) => name)))

/** Connect requests, right, wrong and nearly right. */
export const connectInput: fc.Arbitrary<HttpInput> = fc
  .record({
    at: place,
    identity,
    path: connectPath,
    query,
    id: fc.option(sessionId, { freq: 15 }),
    certificate: fc.option(certificate, { freq: 10 }),
    others: fc.array(otherHeader, { maxLength: 2 }),
    without: leftOut(usual),
    replaces: fc.boolean(),
    cuts,
    pauseMs,
    ending,
    behind: fc.oneof({ weight: 4, arbitrary: fc.constant("") }, latin1(30))
  })
  .map(({ at, behind, certificate: der, id, others, path, query: asked, replaces, without, ...rest }) => {
    const replaced = new Set(others.map(([name]) => name.toLowerCase()))
    const headers = [
      ...usual.filter(([name]) => name !== without && !(replaces && replaced.has(name.toLowerCase()))),
      ...(id === null ? [] : [["x-session-id", id] as const]),
      ...(der === null ? [] : [["x-client-der", der] as const]),
      ...others
    ]
    const line = `GET ${path}?${asked}`.replaceAll(/[\s\0]/g, "+").replace("GET+", "GET ")
    return {
      at,
      ...rest,
      text: `${asBytes(`${line} HTTP/1.1\r\n${headerLines(headers)}\r\n`)}${behind}`,
      isHead: false
    }
  })

/** A path of each route; a test compares. */
export const paths: ReadonlyArray<string> = [
  "/health",
  "/livez",
  "/readyz",
  "/readyz/serving",
  "/apis/operator.metalbear.co",
  operatorApiRoot,
  ...[
    "mirrordoperators",
    "mirrordoperators/operator",
    "mirrordoperators/operator/ping",
    "mirrordoperators/nope",
    "mirrordclusters",
    "mirrordclusters/cluster-a",
    "events",
    "mirrordclusteroperatorusercredentials",
    "mirrordoperators/operator/certificate",
    "mirrordoperators/operator/reports",
    "mirrordoperators/operator/reports/usage",
    "mirrordoperators/operator/reports/usage/trends",
    "mirrordoperators/operator/reports/clusters",
    "mirrordoperators/operator;/reports",
    "sessions",
    "sessions/inactive",
    "sessions/mc-0000000000000000",
    "namespaces/default/sessions",
    "namespaces/default/sessions/mc-0000000000000000",
    "targets",
    "namespaces/default/targets",
    "namespaces/default/targets/deployment.myapp",
    "namespaces/default/targets/deployment.myapp/port-locks",
    "queuesplits",
    "namespaces/default/queuesplits",
    "namespaces/default/queuesplits/nope",
    "copytargets",
    "namespaces/default/copytargets",
    "namespaces/default/copytargets/nope",
    "proxy/namespaces/default/targets/deployment.myapp",
    "branchcredentials"
  ].map((path) => `${operatorApiRoot}/${path}`)
]

/** A request that is HTTP, of any kind. */
interface Asked {
  readonly method: string
  readonly path: string
  readonly headers: ReadonlyArray<Header>
  readonly body: string
}

const anyPath = fc.oneof(
  { weight: 6, arbitrary: fc.constantFrom(...paths) },
  { weight: 2, arbitrary: fc.tuple(fc.constantFrom(...paths), segment).map((two) => two.join("/")) },
  { weight: 2, arbitrary: fc.tuple(fc.constantFrom(...paths), segment).map((two) => two.join("?")) },
  { weight: 1, arbitrary: segment.map((one) => `${operatorApiRoot}/namespaces/${one}/sessions`) },
  {
    weight: 1,
    arbitrary: fc.constantFrom("*", "//", "/%", "http://x/livez", "//x/livez", "/?", "/#", `${operatorApiRoot}//`)
  },
  { weight: 1, arbitrary: latin1(20).map((text) => `/${text.replaceAll(/[\s\0]/g, "")}`) }
)

const csr = `-----BEGIN CERTIFICATE REQUEST-----
MIGWMEoCAQAwFzEVMBMGA1UEAwwMZnV6enktY2xpZW50MCowBQYDK2VwAyEA2a2c
-----END CERTIFICATE REQUEST-----
`
const body = fc.oneof(
  fc.constant(""),
  fc.constantFrom(
    "{",
    "null",
    "[]",
    '"',
    '"\\ud800"',
    "\ufeff{}",
    '{"spec":null}',
    '{"spec":{"csr":7}}',
    '{"__proto__":{}}'
  ),
  fc.constantFrom(csr, JSON.stringify(csr), JSON.stringify({ spec: { csr, kind: "regular" } })),
  fc.tuple(fc.uint8Array({ maxLength: 300 }), fc.boolean()).map(([bytes, wraps]) => {
    const base64 = Buffer.from(bytes).toString("base64")
    const pem = `-----BEGIN CERTIFICATE REQUEST-----\n${base64}\n-----END CERTIFICATE REQUEST-----`
    return wraps ? JSON.stringify({ spec: { csr: pem } }) : pem
  }),
  fc.json({ maxDepth: 4 }),
  latin1(200),
  many(65_000, 70_000),
  nested
)

const defaultApi: ReadonlyArray<Header> = [
  ["Host", "operator"],
  ["Connection", "close"],
  ["X-Remote-User", "fuzz"],
  ["X-Remote-Group", "system:masters"]
]
const apiHeader: fc.Arbitrary<Header> = fc.oneof(
  otherHeader,
  fc.tuple(
    fc.constantFrom("Accept", "Content-Type", "Content-Encoding", "Range", "If-Match", "Cookie"),
    fc.oneof(
      fc.constantFrom("application/json", "application/vnd.kubernetes.protobuf", "gzip", "bytes=0-"),
      headerText(30)
    )
  )
)

/** A `DELETE` ends only unused objects: the live sessions are to be disturbed by input alone. */
const harmless = (asked: Asked): Asked =>
  asked.method !== "DELETE" ? asked : { ...asked, path: `${operatorApiRoot}/sessions/${asked.path.length % 1000}` }

const requestText = (
  { body: sent, headers, method, path }: Asked,
  framing: "length" | "chunks" | "less" | "more"
): string => {
  const bytes = asBytes(sent)
  const length = { length: bytes.length, less: Math.max(0, bytes.length - 1), more: bytes.length + 9, chunks: 0 }[
    framing
  ]
  const last: Header = framing === "chunks" ? ["Transfer-Encoding", "chunked"] : ["Content-Length", `${length}`]
  const content =
    framing === "chunks" ? `${bytes.length.toString(16)}\r\n${bytes}\r\n${bytes === "" ? "" : "0\r\n\r\n"}` : bytes
  return `${asBytes(`${method} ${path} HTTP/1.1\r\n${headerLines([...headers, last])}\r\n`)}${content}`
}

const methods = [
  "GET",
  "GET",
  "GET",
  "POST",
  "POST",
  "PUT",
  "PATCH",
  "DELETE",
  "OPTIONS",
  "HEAD",
  "TRACE",
  "QUERY",
  "BREW"
]

/** Requests of every path, with any method, headers and body. */
export const apiInput: fc.Arbitrary<HttpInput> = fc
  .record({
    at: place,
    identity,
    method: fc.constantFrom(...methods),
    path: anyPath,
    body,
    others: fc.array(apiHeader, { maxLength: 3 }),
    without: leftOut(defaultApi),
    framing: fc.constantFrom("length" as const, "length" as const, "chunks" as const, "less" as const, "more" as const),
    cuts,
    pauseMs,
    ending
  })
  .map(({ body: sent, framing, method, others, path, without, ...rest }) => {
    const headers = [...defaultApi.filter(([name]) => name !== without), ...others]
    const asked = harmless({ method, path, headers, body: sent })
    return { ...rest, text: requestText(asked, framing), isHead: method === "HEAD" }
  })

const tokens = [
  "\r\n",
  "\n",
  "\r",
  "\0",
  " ",
  "\t",
  ":",
  "\r\n\r\n",
  "Transfer-Encoding: chunked\r\n",
  "Transfer-Encoding: chunked, chunked\r\n",
  "Content-Length: 5\r\n",
  "Content-Length: -1\r\n",
  "Content-Length: 99999999999999999999\r\n",
  "HTTP/1.0",
  "HTTP/2.0",
  "HTTP/9.9",
  "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
  "GET / HTTP/1.1\r\n",
  "Upgrade: websocket\r\nConnection: Upgrade\r\n",
  "Expect: 100-continue\r\n",
  " folded: x\r\n",
  "ffffffffffffffff\r\n",
  "\u00ff\u00fe"
]

type Change = (text: string) => string
const change: fc.Arbitrary<Change> = fc
  .record({
    act: fc.constantFrom("insert", "cut", "double", "flip", "rest"),
    from: fc.nat(600),
    length: fc.nat(40),
    token: fc.oneof(fc.constantFrom(...tokens), latin1(8), many(17_000, 20_000)),
    bit: fc.nat(7)
  })
  .map(({ act, bit, from, length, token }): Change => (text) => {
    const at = text.length === 0 ? 0 : from % text.length
    const [before, part, after] = [text.slice(0, at), text.slice(at, at + length), text.slice(at + length)]
    switch (act) {
      case "insert":
        return `${before}${token}${text.slice(at)}`
      case "cut":
        return `${before}${after}`
      case "double":
        return `${before}${part}${part}${after}`
      case "flip":
        return `${before}${String.fromCharCode((text.charCodeAt(at) ^ (1 << bit)) & 255)}${text.slice(at + 1)}`
      default:
        return before
    }
  })

const sound: ReadonlyArray<string> = [
  ...[operatorApiRoot, "/livez", `${operatorApiRoot}/mirrordoperators/operator`].map((path) =>
    requestText(
      { method: "GET", path, headers: defaultApi.filter(([name]) => name !== "Connection"), body: "" },
      "length"
    )
  ),
  ...(["length", "chunks"] as const).map((framing) =>
    requestText(
      {
        method: "POST",
        path: `${operatorApiRoot}/mirrordoperators/operator/certificate`,
        headers: defaultApi,
        body: csr
      },
      framing
    )
  )
]

/** Bytes that are nearly HTTP, or several requests in one, or none at all. */
export const framingInput: fc.Arbitrary<HttpInput> = fc
  .record({
    at: place,
    identity,
    requests: fc.array(fc.constantFrom(...sound), { minLength: 1, maxLength: 3 }),
    changes: fc.array(change, { maxLength: 4 }),
    noise: fc.option(latin1(300), { freq: 12 }),
    cuts,
    pauseMs,
    ending
  })
  .map(({ changes, noise, requests, ...rest }) => ({
    ...rest,
    text: noise ?? changes.reduce((text, alter) => alter(text), requests.join("")),
    isHead: false
  }))
