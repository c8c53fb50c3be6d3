import * as fc from "fast-check"
import { describe, expect, it } from "vitest"
import { answerRows, Policing } from "../../../src/domain/policies/policing.ts"
import type { PolicyRules } from "../../../src/domain/policies/policy-rules.ts"
import { ClientMessage, clientMessage } from "../../../src/domain/protocol/client-message.ts"
import { type DaemonMessage, daemonMessage } from "../../../src/domain/protocol/daemon-message.ts"
import { FileRequest } from "../../../src/domain/protocol/file-messages.ts"
import { LayerTcp, LayerTcpSteal } from "../../../src/domain/protocol/incoming-messages.ts"
import { type ClientDecision, pass } from "../../../src/domain/protocol/message-filter.ts"
import { LayerTcpOutgoing } from "../../../src/domain/protocol/outgoing-messages.ts"
import { peekClient, peekDaemon } from "../../../src/domain/protocol/peek.ts"
import type { ResponseError } from "../../../src/domain/protocol/response-error.ts"
import { readableError } from "../../../src/domain/relay/versions.ts"
import { collectGarbage } from "../../support/collect-garbage.ts"
import { arbitraryOf } from "../protocol/arbitrary.ts"
import { anyPolicy, policy } from "./policies.ts"

const asIs = (error: ResponseError): ResponseError => error

const policing = (...policies: ReadonlyArray<PolicyRules>): Policing => {
  const made = Policing.of(policies)
  if (made === undefined) throw new Error("these policies concern no message")
  return made
}

const ask = (made: Policing | undefined, message: ClientMessage, form = asIs): ClientDecision => {
  const bytes = clientMessage.encode(message)
  return made?.rows.has(peekClient(bytes)) === true ? made.asked(bytes, form) : pass
}

/** The answers that are due behind a message to the client. */
const answered = (made: Policing, bytes: Uint8Array): ReadonlyArray<Uint8Array> => {
  const row = peekDaemon(bytes)
  return answerRows.has(row) ? made.answered(bytes, row) : []
}

const read = (bytes: Uint8Array | undefined): DaemonMessage => {
  const decoded = daemonMessage.decode(bytes ?? new Uint8Array())
  if (decoded._tag !== "Decoded") throw new Error(`the client got ${decoded._tag}`)
  return decoded.value
}

/** The one answer that a refusal gives at once. */
const answerOf = (policed: ClientDecision): DaemonMessage => {
  if (policed._tag !== "Answered") throw new Error(`it was ${policed._tag}`)
  expect(policed.answers).toHaveLength(1)
  return read(policed.answers[0])
}

const file = (value: FileRequest): ClientMessage => ({ _tag: "FileRequest", value })
const options = { read: true, write: false, append: false, truncate: false, create: false, createNew: false }
const open = (path: string, more: object = {}): ClientMessage =>
  file({ _tag: "Open", value: { path, openOptions: { ...options, ...more } } })
const openedAs = (fd: bigint): DaemonMessage => ({
  _tag: "File",
  value: { _tag: "Open", value: { _tag: "Ok", value: { fd } } }
})
const refusedOpen = (error: ResponseError): DaemonMessage => ({
  _tag: "File",
  value: { _tag: "Open", value: { _tag: "Err", error } }
})
const notThere: ResponseError = { _tag: "RemoteIO", value: { rawOsError: 2, kind: { _tag: "NotFound" } } }
const mayNot: ResponseError = { _tag: "RemoteIO", value: { rawOsError: 13, kind: { _tag: "PermissionDenied" } } }
const steal: ClientMessage = { _tag: "TcpSteal", value: { _tag: "PortSubscribe", value: { _tag: "All", value: 80 } } }
const mirror: ClientMessage = { _tag: "Tcp", value: { _tag: "PortSubscribe", value: 80 } }
const address = { _tag: "Ip", value: { ip: "10.0.0.7", port: 5432 } } as const
const connect: ClientMessage = {
  _tag: "TcpOutgoing",
  value: { _tag: "ConnectV2", value: { uid: 7n, remoteAddress: address } }
}
const oldConnect: ClientMessage = { _tag: "TcpOutgoing", value: { _tag: "Connect", value: { remoteAddress: address } } }
const variables: ClientMessage = {
  _tag: "GetEnvVarsRequest",
  value: { envVarsFilter: new Set(["MINE"]), envVarsSelect: new Set(["*"]) }
}

/** Messages of any kind, with more of those that policies concern. */
const anyMessage: fc.Arbitrary<ClientMessage> = fc.oneof(
  arbitraryOf(ClientMessage),
  arbitraryOf(FileRequest).map(file),
  arbitraryOf(LayerTcpSteal).map((value): ClientMessage => ({ _tag: "TcpSteal", value })),
  arbitraryOf(LayerTcp).map((value): ClientMessage => ({ _tag: "Tcp", value })),
  arbitraryOf(LayerTcpOutgoing).map((value): ClientMessage => ({ _tag: "TcpOutgoing", value })),
  fc.constantFrom("/home/a", "/etc/secret/key", "/var/x.txt", "/app").map((path) => open(path, { write: true }))
)

/** How much of a message reaches an agent; of a request for variables, those that it may not give. */
const leaves = (policed: ClientDecision, message: ClientMessage): ReadonlySet<string> | "All" | "Nothing" => {
  if (policed._tag === "Pass") return message._tag === "GetEnvVarsRequest" ? message.value.envVarsFilter : "All"
  if (policed._tag !== "PassChanged") return "Nothing"
  const changed = clientMessage.decode(policed.bytes)
  if (changed._tag !== "Decoded" || changed.value._tag !== "GetEnvVarsRequest") throw new Error("another message")
  return changed.value.value.envVarsFilter
}

const permitsNoMoreThan = (less: ReturnType<typeof leaves>, more: ReturnType<typeof leaves>): boolean => {
  if (less === "Nothing" || more === "All") return true
  if (less === "All" || more === "Nothing") return false
  return more.isSubsetOf(less)
}

describe("policies on messages", () => {
  it("permit no more when one is added", () => {
    fc.assert(
      fc.property(fc.array(anyPolicy, { maxLength: 3 }), anyPolicy, anyMessage, (policies, added, message) => {
        const before = leaves(ask(Policing.of(policies), message), message)
        const after = leaves(ask(Policing.of([...policies, added]), message), message)
        expect(permitsNoMoreThan(after, before)).toBe(true)
      }),
      { numRuns: 2_000 }
    )
  })

  it("permit the same in any order", () => {
    fc.assert(
      fc.property(fc.array(anyPolicy, { minLength: 1, maxLength: 4 }), anyMessage, (policies, message) => {
        const [one, other] = [Policing.of(policies), Policing.of(policies.toReversed())]
        expect(leaves(ask(one, message), message)).toEqual(leaves(ask(other, message), message))
      }),
      { numRuns: 1_000 }
    )
  })

  it("answer each request that goes no further with a message that the client can read, and with that alone", () => {
    fc.assert(
      fc.property(anyPolicy, anyMessage, (one, message) => {
        const policed = ask(Policing.of([one]), message)
        if (policed._tag === "Answered") answerOf(policed)
        else expect(["Pass", "PassChanged"]).toContain(policed._tag)
      }),
      { numRuns: 1_000 }
    )
  })

  it("read nothing of messages that concern none of them, and everything that is not known", () => {
    const made = policing(policy({ block: ["steal"] }))
    expect(made.rows.has(peekClient(clientMessage.encode(steal)))).toBe(true)
    const data: ClientMessage = {
      _tag: "TcpSteal",
      value: { _tag: "Data", value: { connectionId: 1n, bytes: new Uint8Array(9) } }
    }
    for (const message of [mirror, connect, open("/a"), variables, data])
      expect(made.rows.has(peekClient(clientMessage.encode(message)))).toBe(false)
    expect(made.rows.has(undefined)).toBe(true)
    expect(Policing.of([policy({ requireProfile: true, block: ["copy-target-scale-down"] })])).toBeUndefined()
    expect(Policing.of([])).toBeUndefined()
  })

  it("let no message through that is too new to be judged, and say so once", () => {
    const made = policing(policy({ block: ["steal"] }))
    expect(made.asked(Uint8Array.of(200), asIs)).toMatchObject({ _tag: "Answered", answers: [] })
    expect(made.asked(Uint8Array.of(200), asIs)).toEqual({ _tag: "Answered", answers: [], warning: undefined })
    // A message that ends too early is the router's, which tells the user.
    expect(made.asked(clientMessage.encode(steal).slice(0, 2), asIs)).toEqual({ _tag: "Pass" })
  })
})

describe("subscriptions", () => {
  it("are refused with the policy's name, the port and the reason, in the form of the client's version", () => {
    const made = policing(policy({ block: ["steal", "mirror"] }, "calm"))
    const blocked = { blockedAction: { _tag: "Steal", value: { _tag: "All", value: 80 } }, policyName: "calm" }
    expect(answerOf(ask(made, steal))).toMatchObject({
      _tag: "TcpSteal",
      value: {
        _tag: "SubscribeResult",
        value: { _tag: "Err", error: { _tag: "ForbiddenWithReason", ...blocked, reason: "it blocks stealing" } }
      }
    })
    expect(answerOf(ask(made, steal, (error) => readableError(error, "1.16.0")))).toMatchObject({
      value: { value: { error: { _tag: "Forbidden", ...blocked } } }
    })
    expect(answerOf(ask(made, mirror))).toMatchObject({
      _tag: "Tcp",
      value: { value: { error: { blockedAction: { _tag: "Mirror", value: 80 } } } }
    })
  })
})

describe("variables", () => {
  it("are added to those that the user excludes", () => {
    const made = policing(policy({ env: { exclude: ["DB_*"] } }), policy({ env: { exclude: ["KEY"] } }, "q"))
    const policed = ask(made, variables)
    if (policed._tag !== "PassChanged") throw new Error(policed._tag)
    expect(clientMessage.decode(policed.bytes)).toMatchObject({
      value: { value: { envVarsFilter: new Set(["MINE", "DB_*", "KEY"]), envVarsSelect: new Set(["*"]) } }
    })
  })
})

describe("outgoing connections", () => {
  const blocking = policy({ network: { outgoing: { block: [{ hostname: "^db\\." }] } } }, "no-db")
  const lookUp: ClientMessage = { _tag: "GetAddrInfoRequest", value: { node: "db.default" } }
  const found: DaemonMessage = {
    _tag: "GetAddrInfoResponse",
    value: { _tag: "Ok", value: [{ name: "db.default", ip: "10.0.0.7" }] }
  }

  it("are refused under the uid of their request, by the name under which the address was looked up", () => {
    const made = policing(blocking)
    expect(ask(made, connect)).toEqual({ _tag: "Pass" })
    expect(ask(made, lookUp)).toEqual({ _tag: "Pass" })
    expect(answered(made, daemonMessage.encode(found))).toEqual([])
    expect(answerOf(ask(made, connect))).toMatchObject({
      _tag: "TcpOutgoing",
      value: {
        _tag: "ConnectV2",
        value: {
          uid: 7n,
          connect: {
            _tag: "Err",
            error: { _tag: "ForbiddenWithReason", policyName: "no-db", blockedAction: { _tag: "OutgoingTcp" } }
          }
        }
      }
    })
  })

  it("are refused with a warning for each address, as the program sees no more than a reset", () => {
    const made = policing(policy({ network: { outgoing: { block: [{}] } } }, "inside"))
    const warningOf = (policed: ClientDecision) => (policed._tag === "Answered" ? policed.warning : policed._tag)
    const to = (port: number): ClientMessage => ({
      _tag: "TcpOutgoing",
      value: { _tag: "ConnectV2", value: { uid: 7n, remoteAddress: { _tag: "Ip", value: { ip: "10.0.0.7", port } } } }
    })
    expect(warningOf(ask(made, to(80)))).toBe(
      'the mirrord policy "inside" forbids a connection to 10.0.0.7 port 80: one of its network.outgoing.block rules ' +
        "forbids this address"
    )
    expect([warningOf(ask(made, to(80))), warningOf(ask(made, to(81)))]).toEqual([
      undefined,
      expect.stringContaining("port 81")
    ])
    for (let port = 1_000; port < 2_000; port++) ask(made, to(port))
    expect(warningOf(ask(made, to(2_000)))).toBeUndefined()
  })

  it("take long names for names that nobody has, and no memory", () => {
    const made = policing(blocking)
    const longest: ClientMessage = { _tag: "GetAddrInfoRequest", value: { node: "a".repeat(100_000) } }
    for (let i = 0; i < 3; i++) expect(ask(made, longest)).toEqual({ _tag: "Pass" })
    answered(made, daemonMessage.encode(found))
    expect(ask(made, connect)._tag, "any name may have been the forbidden one").toBe("Answered")
  })

  it("keep nothing of names that are too long while nobody answers", () => {
    const made = policing(blocking)
    const used = (): number => {
      collectGarbage()
      return process.memoryUsage().heapUsed
    }
    const before = used()
    const endless: ClientMessage = { _tag: "GetAddrInfoRequest", value: { node: "a".repeat(1_000_000) } }
    for (let i = 0; i < 100; i++) ask(made, endless)
    expect(used() - before).toBeLessThan(50_000_000)
    expect(answered(made, daemonMessage.encode(found))).toEqual([])
  })

  it("of old clients are answered in the order of their requests", () => {
    const made = policing(policy({ network: { outgoing: { block: [{ ports: [{ port: 5432, protocol: "TCP" }] }] } } }))
    const other = { _tag: "Ip", value: { ip: "10.0.0.7", port: 80 } } as const
    const passing: ClientMessage = { _tag: "TcpOutgoing", value: { _tag: "Connect", value: { remoteAddress: other } } }
    expect(ask(made, passing)).toEqual({ _tag: "Pass" })
    expect(ask(made, oldConnect)).toMatchObject({ _tag: "Answered", answers: [] })
    const connected = { connectionId: 1n, remoteAddress: other, localAddress: other }
    const answer: DaemonMessage = {
      _tag: "TcpOutgoing",
      value: { _tag: "Connect", value: { _tag: "Ok", value: connected } }
    }
    const [refused, ...more] = answered(made, daemonMessage.encode(answer))
    expect(more).toEqual([])
    expect(read(refused)).toMatchObject({ value: { _tag: "Connect", value: { _tag: "Err" } } })
    answerOf(ask(made, oldConnect))
  })
})

describe("files", () => {
  const limited = policy({ fs: { local: ["^/home/"], notFound: ["^/secret"], readOnly: ["^/etc/"] } }, "files")

  it("are opened locally, not found, or not opened for writing; the user is told once of each", () => {
    const made = policing(limited)
    const warningOf = (policed: ClientDecision) => (policed._tag === "Answered" ? policed.warning : policed._tag)
    expect(answerOf(ask(made, open("/home/a")))).toEqual(refusedOpen({ _tag: "OpenLocal" }))
    expect(answerOf(ask(policing(limited), open("/secret/a")))).toEqual(refusedOpen(notThere))
    expect(answerOf(ask(policing(limited), open("/etc/a", { write: true })))).toEqual(refusedOpen(mayNot))
    expect(ask(made, open("/etc/a"))).toEqual({ _tag: "Pass" })
    const fresh = policing(limited)
    expect(warningOf(ask(fresh, open("/secret/a")))).toContain(
      'the mirrord policy "files" keeps files of the target not found, such as /secret/a'
    )
    expect(warningOf(ask(fresh, open("/secret/b")))).toBeUndefined()
    expect(warningOf(ask(fresh, open("/home/b")))).toContain("on your machine alone")
  })

  it("are ENOENT for a client that does not know of local files", () => {
    const form = (error: ResponseError) => readableError(error, "1.13.2")
    expect(answerOf(ask(policing(limited), open("/home/a"), form))).toEqual(refusedOpen(notThere))
  })

  it("are found below directories that were opened, and nowhere below others", () => {
    const made = policing(limited)
    const below = (fd: bigint, path: string): ClientMessage =>
      file({ _tag: "OpenRelative", value: { relativeFd: fd, path, openOptions: options } })
    ask(made, open("/"))
    answered(made, daemonMessage.encode(openedAs(3n)))
    expect(ask(made, below(3n, "app"))).toEqual({ _tag: "Pass" })
    answered(made, daemonMessage.encode(openedAs(4n)))
    expect(answerOf(ask(made, below(3n, "secret")))).toEqual(refusedOpen(notThere))
    expect(answerOf(ask(made, below(4n, "../secret")))).toEqual(refusedOpen(notThere))
    expect(answerOf(ask(made, below(5n, "app")))).toEqual(refusedOpen(notThere))
    ask(made, file({ _tag: "Close", value: { fd: 3n } }))
    expect(answerOf(ask(made, below(3n, "app")))).toEqual(refusedOpen(notThere))
  })

  it("are answered in the order of their requests, whatever is refused", () => {
    const step = fc.oneof(
      fc.constantFrom("/home/a", "/secret", "/etc/a", "/app").map((path) => ({ _tag: "Ask", path }) as const),
      fc.constant({ _tag: "Answer" } as const)
    )
    fc.assert(
      fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
        const made = policing(limited)
        const asked: Array<string> = []
        const atAgent: Array<bigint> = []
        const got: Array<DaemonMessage> = []
        const answer = (): void => {
          const fd = atAgent.shift()
          if (fd === undefined) return
          const bytes = daemonMessage.encode(openedAs(fd))
          got.push(read(bytes), ...answered(made, bytes).map(read))
        }
        for (const one of steps) {
          if (one._tag === "Answer") {
            answer()
            continue
          }
          const policed = ask(made, open(one.path))
          if (policed._tag === "Pass") atAgent.push(BigInt(asked.length))
          if (policed._tag === "Answered") got.push(...policed.answers.map(read))
          asked.push(one.path)
        }
        while (atAgent.length > 0) answer()
        const expected = asked.map((path, i) => {
          if (path === "/home/a") return refusedOpen({ _tag: "OpenLocal" })
          return path === "/secret" ? refusedOpen(notThere) : openedAs(BigInt(i))
        })
        expect(got).toEqual(expected)
      }),
      { numRuns: 1_000 }
    )
  })

  it("below a directory with an endless path are not there, and the path is not remembered", () => {
    const below = (fd: bigint, path: string): ClientMessage =>
      file({ _tag: "OpenRelative", value: { relativeFd: fd, path, openOptions: options } })
    const made = policing(limited)
    ask(made, open(`/${"app/".repeat(900)}`))
    answered(made, daemonMessage.encode(openedAs(1n)))
    expect(ask(made, below(1n, "app"))).toEqual({ _tag: "Pass" })
    expect(answerOf(ask(policing(limited), below(1n, "a".repeat(5_000))))).toEqual(refusedOpen(notThere))
    // Opening for reading is never refused by a list of files that are read-only.
    const readOnly = policing(policy({ fs: { readOnly: ["^/etc/"] } }))
    expect(ask(readOnly, open(`/${"a".repeat(5_000)}`))).toEqual({ _tag: "Pass" })
    answered(readOnly, daemonMessage.encode(openedAs(2n)))
    expect(answerOf(ask(readOnly, file({ _tag: "Ftruncate", value: { fd: 2n, length: 0n } })))).toMatchObject({
      value: { value: { error: notThere } }
    })
  })

  it("are asked for without end by no client that reads none of the answers", () => {
    const made = policing(limited)
    ask(made, open("/app"))
    for (let i = 1; i < 10_000; i++) expect(ask(made, open("/secret"))._tag).toBe("Answered")
    expect(ask(made, open("/secret"))._tag).toBe("TooMuch")
    expect(answered(made, daemonMessage.encode(openedAs(1n)))).toHaveLength(9_999)
  })
})
