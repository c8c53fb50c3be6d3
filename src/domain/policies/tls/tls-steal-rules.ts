/**
 * A MirrordTlsStealConfig or MirrordClusterTlsStealConfig as agents get it: its ports, and the targets that it is for.
 * The agent reads the files of a port at the first stolen connection only, and says nothing to the user if it cannot;
 * so mistakes that the object alone shows are refused here.
 *
 * Not here: which of them apply to an agent (agent-tls.ts), and the variable (adapters/agents).
 */

import * as Result from "effect/Result"
import type { TlsStealConfig } from "../../resources/policies/mirrord-tls-steal-configs.ts"
import { bounded, checkFields, type KnownFields, readRules, readTarget, refuse, short } from "../readable-rules.ts"
import type { TargetPattern } from "../target-pattern.ts"

/** Paths of a certificate chain and of its key, in the target's container. */
interface Authentication {
  readonly certPem: string
  readonly keyPem: string
}

/** One port of a target that serves TLS, in the shape that agents read (agent.md §6.9). Holds paths and no secret. */
export interface PortTls {
  readonly port: number
  readonly agentAsServer: {
    readonly authentication: Authentication
    readonly alpnProtocols: ReadonlyArray<string>
    readonly verification?: {
      readonly allowAnonymous: boolean
      readonly acceptAnyCert: boolean
      readonly trustRoots: ReadonlyArray<string>
    }
  }
  readonly agentAsClient: {
    readonly authentication?: Authentication
    readonly verification: { readonly acceptAnyCert: boolean; readonly trustRoots: ReadonlyArray<string> }
  }
}

/** One object. */
export interface TlsStealRules {
  /** Kind, namespace and name, for sentences. */
  readonly title: string
  /** Without targets that could be read, it may concern every target of its namespace, or of the cluster. */
  readonly target: TargetPattern
  /** The ports; the failure says why the object cannot be used. */
  readonly ports: Result.Result<ReadonlyArray<PortTls>, string>
}

type PortSpec = TlsStealConfig["spec"]["ports"][number]
type Verification = PortSpec["agentAsClient"]["verification"]

/** The fields that are understood, by the path of the object that has them. */
const knownFields: KnownFields = {
  spec: ["ports", "selector", "targetPath"],
  "spec.selector": ["matchLabels", "matchExpressions"],
  "spec.ports[]": ["port", "agentAsServer", "agentAsClient"],
  "spec.ports[].agentAsServer": ["authentication", "alpnProtocols", "verification"],
  "spec.ports[].agentAsServer.authentication": ["certPem", "keyPem"],
  "spec.ports[].agentAsServer.verification": ["acceptAnyCert", "allowAnonymous", "trustRoots"],
  "spec.ports[].agentAsClient": ["authentication", "verification"],
  "spec.ports[].agentAsClient.authentication": ["certPem", "keyPem"],
  "spec.ports[].agentAsClient.verification": ["acceptAnyCert", "trustRoots"]
}

/** The longest name of a protocol in a handshake, in bytes (RFC 7301). */
const maxProtocol = 255

/** A path as the agent opens it. A text that is a key instead of a path is named and never quoted. */
const path = (at: string, text: string): string => {
  if (text.includes("-----BEGIN"))
    return refuse(at, "it holds the text of a PEM file, where the path of a file in the target's container belongs")
  if (!text.startsWith("/")) return refuse(at, "it is no absolute path of a file in the target's container")
  return /[\p{Cc}]/u.test(text) ? refuse(at, "it has a control character in it") : short(at, text)
}

const paths = (at: string, texts: ReadonlyArray<string> = []): ReadonlyArray<string> =>
  bounded(at, texts).map((text, i) => path(`${at}[${i}]`, text))

const authentication = (at: string, { certPem, keyPem }: Authentication): Authentication => ({
  certPem: path(`${at}.certPem`, certPem),
  keyPem: path(`${at}.keyPem`, keyPem)
})

/** `mayBeNobody`: whether a check against no root at all can succeed. */
const trust = (at: string, { acceptAnyCert = false, trustRoots }: Verification, mayBeNobody: boolean) => {
  const roots = paths(`${at}.trustRoots`, trustRoots)
  return acceptAnyCert || roots.length > 0 || mayBeNobody
    ? { acceptAnyCert, trustRoots: roots }
    : refuse(at, "no certificate would pass: it needs trustRoots, or acceptAnyCert: true")
}

const protocols = (at: string, names: ReadonlyArray<string> = []): ReadonlyArray<string> =>
  bounded(at, names).map((name, i) =>
    name !== "" && new TextEncoder().encode(name).length <= maxProtocol
      ? name
      : refuse(`${at}[${i}]`, `it is no name of a protocol such as h2, with 1 to ${maxProtocol} bytes`)
  )

const asServer = (at: string, { alpnProtocols, ...server }: PortSpec["agentAsServer"]): PortTls["agentAsServer"] => {
  const clients = server.verification ?? undefined
  const allowAnonymous = clients?.allowAnonymous === true
  return {
    authentication: authentication(`${at}.authentication`, server.authentication),
    alpnProtocols: protocols(`${at}.alpnProtocols`, alpnProtocols),
    ...(clients === undefined
      ? {}
      : { verification: { allowAnonymous, ...trust(`${at}.verification`, clients, allowAnonymous) } })
  }
}

const asClient = (at: string, { verification, ...client }: PortSpec["agentAsClient"]): PortTls["agentAsClient"] => {
  const own = client.authentication ?? undefined
  return {
    ...(own === undefined ? {} : { authentication: authentication(`${at}.authentication`, own) }),
    verification: trust(`${at}.verification`, verification, false)
  }
}

const readPorts = (specs: ReadonlyArray<PortSpec>): ReadonlyArray<PortTls> => {
  const seen = new Set<number>()
  return bounded("spec.ports", specs).map(({ agentAsClient, agentAsServer, port }, i) => {
    const at = `spec.ports[${i}]`
    if (port < 1) refuse(`${at}.port`, `${port} is no port of a server, which has 1 to 65535`)
    if (seen.has(port)) refuse(`${at}.port`, `the port ${port} stands in this list twice`)
    seen.add(port)
    return {
      port,
      agentAsServer: asServer(`${at}.agentAsServer`, agentAsServer),
      agentAsClient: asClient(`${at}.agentAsClient`, agentAsClient)
    }
  })
}

/**
 * Reads an object of either kind. `raw`: the object as the API server has it, with the fields that our view does not
 * show; `title`: its kind, namespace and name.
 */
export const readTlsSteal = (
  { metadata: { namespace }, spec }: TlsStealConfig,
  raw: { readonly [field: string]: unknown },
  title: string
): TlsStealRules => {
  const everything: TargetPattern = { namespace, paths: undefined, selector: undefined }
  const target = readRules(() => readTarget(namespace, spec))
  const ports = readRules(() => {
    checkFields(knownFields, "spec", raw["spec"])
    return readPorts(spec.ports)
  })
  return {
    title,
    target: Result.getOrElse(target, () => everything),
    ports: Result.andThen(target, ports)
  }
}
